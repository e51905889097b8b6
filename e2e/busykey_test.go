package e2e

import (
	"cmp"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// busyCase is a table in which order keys are read apart.
type busyCase struct {
	name, cursor, mode string
	open               func(t *testing.T) (*sql.DB, string)
	ddl, fill, insert  string // fill inserts so many rows of owner 0
}

func busyCases() []busyCase {
	postgres := busyCase{
		name: "postgres, none, identity", cursor: "id", mode: "none", open: openPostgres,
		ddl:    `CREATE TABLE busy (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner int NOT NULL)`,
		fill:   `INSERT INTO busy (owner) SELECT 0 FROM generate_series(1, $1)`,
		insert: `INSERT INTO busy (owner) VALUES ($1)`,
	}
	snapshot := postgres
	snapshot.name, snapshot.cursor, snapshot.mode = "postgres, exact, snapshot windows", "tx", "exact"
	snapshot.ddl = `CREATE TABLE busy (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner int NOT NULL,
		tx xid8 NOT NULL DEFAULT pg_current_xact_id()); CREATE INDEX busy_tx ON busy (tx, id)`
	maria := busyCase{
		name: "mariadb, none, auto_increment", cursor: "id", mode: "none", open: openMySQL,
		ddl:    `CREATE TABLE busy (id bigint AUTO_INCREMENT PRIMARY KEY, owner int NOT NULL)`,
		fill:   `INSERT INTO busy (owner) SELECT 0 FROM ` + testenv.MySQLNumbers(1_000_000) + ` WHERE seq <= ?`,
		insert: `INSERT INTO busy (owner) VALUES (?)`,
	}
	sqlite := busyCase{
		name: "sqlite, exact, autoincrement", cursor: "id", mode: "exact", open: openSQLite,
		ddl: `CREATE TABLE busy (id INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL)`,
		fill: `INSERT INTO busy (owner) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			SELECT 0 FROM n`,
		insert: `INSERT INTO busy (owner) VALUES (?1)`,
	}
	return []busyCase{postgres, snapshot, maria, sqlite}
}

// TestBusyKey: rows of 50 owners, ten a second, arrive while one owner has a backlog, at a receiver that takes 50 ms
// for each. The backlog arrives too, in order, although the relay is killed. ROWRELAY_BUSY says how large it is: with
// 100,000 the figures are those of docs/benchmarks.md, and its end is not waited for.
func TestBusyKey(t *testing.T) {
	t.Parallel()
	rows, others := 200, 10
	if text := os.Getenv("ROWRELAY_BUSY"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			t.Fatalf("ROWRELAY_BUSY: %v", err)
		}
		others = 200
	}
	for _, c := range busyCases() {
		t.Run(c.name, func(t *testing.T) {
			if others < 200 { // else their figures would be those of all beside each other
				t.Parallel()
			}
			c.run(t, rows, others)
		})
	}
}

func (c *busyCase) run(t *testing.T, rows, others int) {
	db, url := c.open(t)
	execute(t, db, c.ddl)
	to := newSink(t)
	var mu sync.Mutex
	arrived, last := map[float64]time.Time{}, map[float64]float64{}
	inverted := 0
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait(r.Context(), 50*time.Millisecond)
		to.ServeHTTP(w, r)
	})
	to.Config.Handler = slow
	to.decide(func(_ http.ResponseWriter, events []cloudEvent) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range events {
			id, owner := e.Data["id"].(float64), e.Data["owner"].(float64)
			if arrived[id].IsZero() {
				arrived[id] = time.Now()
				if id < last[owner] {
					inverted++
				}
				last[owner] = max(last[owner], id)
			}
		}
		return true
	})
	s := settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "busy",
		"status__listen": "127.0.0.1:0",
		"BUSY_DB":        url, "pollers__busy__source__connection": "BUSY_DB", "pollers__busy__source__table": "busy",
		"pollers__busy__source__cursor": c.cursor, "pollers__busy__source__order_key": "owner",
		"pollers__busy__source__late_commits": c.mode, "pollers__busy__output__kind": "http",
		"pollers__busy__output__url": to.URL, "pollers__busy__output__batch": "1",
		"pollers__busy__poll_interval": "100ms", "pollers__busy__schedule": "* * * * * *",
		"pollers__busy__lease_ttl": "15s",
	}
	relay := startRun(t, t.TempDir(), s)
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(arrived) }
	written := 0
	write := func() (p50, p99 time.Duration) {
		before, at := count(), map[float64]time.Time{}
		for i := range others {
			execute(t, db, c.insert, 1+i%50)
			written++
			at[c.newest(t, db)] = time.Now()
			wait(t.Context(), 100*time.Millisecond)
		}
		until(t, "others' rows", func() bool {
			mu.Lock()
			defer mu.Unlock()
			for id := range at {
				if arrived[id].IsZero() {
					return false
				}
			}
			return len(arrived) >= before
		})
		var took []time.Duration
		mu.Lock()
		defer mu.Unlock()
		for id, at := range at {
			took = append(took, max(arrived[id].Sub(at), 0))
		}
		slices.SortFunc(took, cmp.Compare)
		return took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond)
	}
	p50, p99 := write()
	execute(t, db, c.fill, rows)
	written += rows
	until(t, "the backlog's first rows", func() bool { return count() > others+10 })
	busy50, busy99 := write()
	mu.Lock()
	backlog := written - len(arrived)
	mu.Unlock()
	if os.Getenv("ROWRELAY_BUSY") == "" {
		relay.Kill()
		relay = startRun(t, t.TempDir(), s)
		until(t, "every row", func() bool { return count() == written })
	}
	relay.Interrupt()
	_, repeated := to.count()
	t.Logf("BUSY %-34s others p50 %v, p99 %v; beside %d rows of one key p50 %v, p99 %v (%d waited still), LOST %d, "+
		"DUPLICATED %d, INVERTED %d", c.name, p50, p99, rows, busy50, busy99, backlog, max(0, written-count()-backlog),
		repeated, inverted)
	if inverted > 0 {
		t.Errorf("%d rows arrived after a later one of their order key", inverted)
	}
}

// newest is the id of the last row.
func (c *busyCase) newest(t *testing.T, db *sql.DB) (id float64) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT max(id) FROM busy`).Scan(&id); err != nil {
		t.Fatal(fmt.Errorf("the last id: %w", err))
	}
	return id
}
