package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// TestTrackedSiege is the siege of change tracking with processes: three of them, of which one after the other is
// killed by SIGKILL and another takes its place, while writers insert, update, delete, move keys and roll back, and the
// receiver refuses one key. In the end the receiver has what the table has. ROWRELAY_SIEGE_FOR (make siege) lets it go
// on with 16 writers and a kill each second; otherwise there are three kills.
func TestTrackedSiege(t *testing.T) { besiegeTracked(t, false) }

// TestEveryChangeSiege is the same where every change is told: the receiver also has as many as there were.
func TestEveryChangeSiege(t *testing.T) { besiegeTracked(t, true) }

func besiegeTracked(t *testing.T, every bool) {
	t.Helper()
	lasts, _ := time.ParseDuration(os.Getenv("ROWRELAY_SIEGE_FOR")) // 0 where it is not set
	writers, keys, kills := 3, 100, 3
	if lasts > 0 {
		writers, keys, kills = 16, 1000, int(lasts/time.Second)
	}
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		got := &besieged{states: map[string]string{}, seen: map[string]bool{}, versions: map[string]float64{}, refused: "7"}
		to.decide(got.answer)
		o, s := trackedShop(t, engine, to.URL)
		s["status__listen"] = "127.0.0.1:0" // each its own
		s = s.with(settings{"pollers__orders__lease_ttl": "3s", "pollers__orders__poll_interval": "100ms",
			"pollers__orders__output__batch": "20", "pollers__orders__output__retries": "1",
			"pollers__orders__max_attempts": "100", "pollers__orders__retry_delays": "2s",
			"pollers__orders__source__every_change": fmt.Sprint(every), "pollers__orders__max_parked": "10000"})
		dir := t.TempDir()
		stdout(t, dir, s, "track", "install", "orders", "--apply", "--yes")

		changes := func() (n int) {
			err := o.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM rowrelay_history_orders").Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		execute(t, o.db, "CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL)")
		for key := range keys {
			execute(t, o.db, fmt.Sprintf("INSERT INTO counters VALUES (%d, 1000)", key+1))
		}

		ctx, end := context.WithCancel(t.Context())
		defer end()
		var all sync.WaitGroup
		var done, undone atomic.Int64
		for range writers {
			all.Go(func() {
				for ctx.Err() == nil {
					if besiege(ctx, o.db, keys) {
						done.Add(1)
					} else {
						undone.Add(1)
					}
				}
			})
		}
		living := killInTurn(t, s, kills, func(int) {
			before, _ := to.count()
			programtest.Until(t, "something to be delivered", func() bool { n, _ := to.count(); return n > before })
		})
		end()
		all.Wait()
		to.mu.Lock()
		got.refused = ""
		to.mu.Unlock()
		var differ []string
		programtest.Until(t, "the receiver to have what the table has", func() bool {
			to.mu.Lock()
			defer to.mu.Unlock()
			differ = got.differ(t, o.db)
			if n := len(got.seen); every && n != changes() {
				differ = append(differ, fmt.Sprintf("%d changes of %d", n, changes()))
			}
			return len(differ) == 0
		})
		for _, p := range living {
			p.Kill()
		}
		letters := stdout(t, dir, s, "deadletter", "list", "orders", "--json")
		_, repeated := to.count()
		deletes := 0
		for _, state := range got.states {
			if state == "" {
				deletes++
			}
		}
		t.Logf("SIEGE %s: processes: %d transactions, %d rolled back; %d killed; %d events, %d repeated; %d keys end deleted; "+
			"LOST %d, INVERTED %d", engine, done.Load(), undone.Load(), kills, len(got.seen), repeated, deletes, len(differ),
			len(got.inverted))
		if len(differ)+len(got.inverted) > 0 || strings.Contains(letters, `"id"`) || done.Load() == 0 {
			t.Errorf("LOST %v\nINVERTED %v\ndead letters %s", differ, got.inverted, letters)
		}
	})
}

// killInTurn runs three processes. It kills the oldest and starts another, so many times, at most each second; each is
// called before the nth time. It returns those that are left.
func killInTurn(t *testing.T, s settings, times int, each func(n int)) (living []*programtest.Process) {
	t.Helper()
	for range 3 {
		living = append(living, startRun(t, t.TempDir(), s))
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for n := range times {
		living[0].Until("an instance to work, or to wait for another", func() bool {
			return strings.Contains(living[0].Log(), `"msg":"running"`)
		})
		each(n)
		<-second.C
		living[0].Kill()
		living = append(living[1:], startRun(t, t.TempDir(), s))
	}
	return living
}

// besieged is what the receiver has of each key; "" for one that was deleted.
type besieged struct {
	states   map[string]string
	versions map[string]float64
	seen     map[string]bool
	inverted []string
	refused  string // a key
}

// answer takes events, or refuses all of a request in which one is of the key that is refused.
func (b *besieged) answer(w http.ResponseWriter, events []cloudEvent) bool {
	for _, e := range events {
		if b.refused != "" && fmt.Sprint(e.Data["id"]) == b.refused {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return false
		}
	}
	for _, e := range events {
		if b.seen[e.ID] {
			continue
		}
		b.seen[e.ID] = true
		key := fmt.Sprint(e.Data["id"])
		if strings.HasSuffix(e.Type, ".delete") {
			b.states[key] = ""
			continue
		}
		version, _ := e.Data["version"].(float64)
		if version <= b.versions[key] {
			b.inverted = append(b.inverted, fmt.Sprintf("%s: %.0f after %.0f", key, version, b.versions[key]))
		}
		b.versions[key], b.states[key] = version, fmt.Sprintf("%.0f", version)
	}
	return true
}

// differ are the keys of which the receiver's last state is not the table's.
func (b *besieged) differ(t *testing.T, db *sql.DB) (keys []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT id, version FROM orders")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	table := map[string]string{}
	for rows.Next() {
		var id, version string
		if err := rows.Scan(&id, &version); err != nil {
			t.Fatal(err)
		}
		table[id] = version
		if b.states[id] != version {
			keys = append(keys, fmt.Sprintf("%s is %s, and the receiver has %q", id, version, b.states[id]))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for id, version := range b.states {
		if _, there := table[id]; !there && version != "" {
			keys = append(keys, fmt.Sprintf("%s is gone, and the receiver has %s", id, version))
		}
	}
	return keys
}

// besiege does one to four things to the table in a transaction, and reports whether it was committed. Of one key the
// version only grows, in the order of commits: a counter gives it, whose row stays locked until the transaction ends.
func besiege(ctx context.Context, db *sql.DB, keys int) bool {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false
	}
	defer tx.Rollback() //nolint:errcheck // it may be committed
	for range 1 + rand.IntN(4) {
		key := 1 + rand.IntN(keys)
		var text string
		version := func() string { return fmt.Sprintf("(SELECT n FROM counters WHERE id = %d)", key) }
		switch rand.IntN(8) {
		case 0, 1:
			text = fmt.Sprintf("INSERT INTO orders VALUES (%d, %s)", key, version())
		case 2:
			text = fmt.Sprintf("DELETE FROM orders WHERE id = %d", key)
		case 3:
			text = fmt.Sprintf("UPDATE orders SET id = %d, version = %s WHERE id = %d", key, version(), 1+rand.IntN(keys))
		case 4:
			key = 7
			fallthrough
		default:
			text = fmt.Sprintf("UPDATE orders SET version = %s WHERE id = %d", version(), key)
		}
		for _, text := range []string{fmt.Sprintf("UPDATE counters SET n = n + 1 WHERE id = %d", key), text} {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return false
			}
		}
	}
	return rand.IntN(8) > 0 && tx.Commit() == nil
}
