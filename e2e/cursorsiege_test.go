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
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// TestCursorSiege is TestTrackedSiege for a cursor, with a max_parked that is reached again and again: the receiver
// refuses an eighth of the keys, and takes them a while later.
func TestCursorSiege(t *testing.T) {
	lasts, _ := time.ParseDuration(os.Getenv("ROWRELAY_SIEGE_FOR")) // 0 where it is not set
	writers, keys, kills := 3, 100, 3
	if lasts > 0 {
		writers, keys, kills = 16, 300, int(lasts/time.Second)
	}
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		got := &besieged{states: map[string]string{}, seen: map[string]bool{}, versions: map[string]float64{}}
		refusing := true
		to.decide(func(w http.ResponseWriter, events []cloudEvent) bool {
			for _, e := range events {
				var id int
				if _, err := fmt.Sscan(e.Subject, &id); refusing && err == nil && id%8 == 3 {
					w.WriteHeader(http.StatusUnprocessableEntity)
					return false
				}
			}
			return got.answer(w, events)
		})
		o, s := trackedShop(t, engine, to.URL)
		s = s.with(settings{"status__listen": "127.0.0.1:0", "pollers__orders__lease_ttl": "3s",
			"pollers__orders__source__mode": "", "pollers__orders__source__cursor": "changed",
			"pollers__orders__poll_interval": "100ms", "pollers__orders__output__batch": "20",
			"pollers__orders__output__retries": "1", "pollers__orders__max_attempts": "100",
			"pollers__orders__retry_delays": "1s", "pollers__orders__max_parked": "10"})
		changed := map[string][2]string{ // the column, and the value of a change
			"sqlite":   {"bigint NOT NULL DEFAULT 0", "(SELECT n FROM counters WHERE id = 0)"},
			"postgres": {"xid8 NOT NULL DEFAULT pg_current_xact_id()", "pg_current_xact_id()"},
			"mysql":    {"timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)", "NOW(6)"},
		}[engine]
		execute(t, o.db, "ALTER TABLE orders ADD COLUMN changed "+changed[0])
		execute(t, o.db, "CREATE INDEX orders_changed ON orders (changed, id)")
		execute(t, o.db, "CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL)")
		for key := range keys + 1 {
			execute(t, o.db, fmt.Sprintf("INSERT INTO counters VALUES (%d, 1000)", key))
		}
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for ctx.Err() == nil {
					touch(ctx, o.db, engine, keys, changed[1])
				}
			})
		}
		killInTurn(t, s, kills, func(n int) {
			to.mu.Lock()
			defer to.mu.Unlock()
			refusing = n == 0 || (n-1)%8 < 4
		})
		end()
		all.Wait()
		to.mu.Lock()
		refusing = false
		to.mu.Unlock()
		var differ []string
		programtest.Until(t, "the receiver to have what the table has", func() bool {
			to.mu.Lock()
			defer to.mu.Unlock()
			differ = got.differ(t, o.db)
			return len(differ) == 0
		})
		_, repeated := to.count()
		t.Logf("SIEGE %s: cursor: %d killed; %d events, %d repeated; LOST %d, INVERTED %d", engine, kills, len(got.seen),
			repeated, len(differ), len(got.inverted))
		letters := stdout(t, t.TempDir(), s, "deadletter", "list", "orders", "--json")
		if len(differ)+len(got.inverted) > 0 || strings.Contains(letters, `"id"`) || len(got.seen) == 0 {
			t.Errorf("LOST %v\nINVERTED %v\ndead letters %s", differ, got.inverted, letters)
		}
	})
}

// touch writes one to three rows in a transaction, and may roll it back.
func touch(ctx context.Context, db *sql.DB, engine string, keys int, changed string) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return
	}
	defer tx.Rollback() //nolint:errcheck // it may be committed
	for range 1 + rand.IntN(3) {
		key := 1 + rand.IntN(keys)
		texts := []string{fmt.Sprintf("UPDATE counters SET n = n + 1 WHERE id = %d", key),
			fmt.Sprintf("UPDATE orders SET version = (SELECT n FROM counters WHERE id = %d), changed = %s WHERE id = %d", key,
				changed, key)}
		if engine == "sqlite" {
			texts = append([]string{"UPDATE counters SET n = n + 1 WHERE id = 0"}, texts...)
		}
		if rand.IntN(3) == 0 {
			texts[len(texts)-1] = fmt.Sprintf("INSERT INTO orders (id, version, changed) SELECT %d, n, %s FROM counters "+
				"WHERE id = %d", key, changed, key)
		}
		for _, text := range texts {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return
			}
		}
	}
	if rand.IntN(8) > 0 {
		_ = tx.Commit()
	}
}
