package e2e

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// orderCase is a table whose rows belong to owners, and whose cursor is drawn before the commit.
type orderCase struct {
	name, cursor string // the name begins with the engine
	exact        bool
	open         func(t *testing.T) (*sql.DB, string)
	ddl, insert  string
	// draw reads a value of the cursor before the transaction begins, where a database has one writer at a time; one lets
	// them in in the order of their coming, which the database does not.
	draw string
	one  *sync.Mutex
}

func orderCases() []orderCase {
	const table = `CREATE TABLE late (id %s, owner int NOT NULL, n int NOT NULL, at %s)`
	postgres := orderCase{
		name: "postgres, times", cursor: "at", open: openPostgres, insert: `INSERT INTO late (owner, n) VALUES ($1, $2)`,
		ddl: fmt.Sprintf(table, "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "timestamptz NOT NULL DEFAULT now()"),
	}
	identity := postgres
	identity.name, identity.cursor = "postgres, identity", "id"
	exact := postgres
	exact.name, exact.cursor, exact.exact = "postgres, exact", "at", true
	exact.ddl = fmt.Sprintf(table, "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		"xid8 NOT NULL DEFAULT pg_current_xact_id()")
	maria := orderCase{
		name: "mariadb, times", cursor: "at", open: openMySQL, insert: `INSERT INTO late (owner, n) VALUES (?, ?)`,
		ddl: fmt.Sprintf(table, "bigint AUTO_INCREMENT PRIMARY KEY", "datetime(6) NOT NULL DEFAULT NOW(6)"),
	}
	increment := maria
	increment.name, increment.cursor = "mariadb, auto_increment", "id"
	sqlite := orderCase{
		name: "sqlite, times", cursor: "at", open: openSQLite, insert: `INSERT INTO late (owner, n, at) VALUES (?1, ?2, ?3)`,
		ddl:  fmt.Sprintf(table, "INTEGER PRIMARY KEY", "DATETIME NOT NULL"),
		draw: `SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')`, one: &sync.Mutex{},
	}
	return []orderCase{postgres, identity, exact, maria, increment, sqlite}
}

// TestSharedOrderKey: 40 owners write one transaction after the other, 50 a second each where the machine can, of which
// one in twenty stays open for 200 ms; the relay is killed once. Each owner's rows arrive in the order in which they
// were written, and none is lost.
func TestSharedOrderKey(t *testing.T) {
	t.Parallel()
	writeFor := lateFor(t, 4*time.Second)
	for _, engine := range []string{"postgres", "mariadb", "sqlite"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, c := range orderCases() {
				if name, ok := strings.CutPrefix(c.name, engine+", "); ok {
					t.Run(name, func(t *testing.T) { c.run(t, "owner", writeFor) })
				}
			}
		})
	}
}

// TestLateRowsArriveSoon: the same with the order of each row alone. How soon is for people: `make late` prints it, for
// all of the cases.
func TestLateRowsArriveSoon(t *testing.T) {
	t.Parallel()
	writeFor := lateFor(t, 0)
	cases := orderCases()
	if writeFor == 0 {
		cases, writeFor = cases[:1], 6*time.Second
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, "", writeFor) })
	}
}

// run writes for a while, half of it undisturbed.
func (c *orderCase) run(t *testing.T, orderKey string, writeFor time.Duration) {
	db, url := c.open(t)
	execute(t, db, c.ddl)
	execute(t, db, `CREATE INDEX late_at ON late (at, id)`)
	to := newSink(t)
	var mu sync.Mutex
	committed, arrived := map[string]time.Time{}, map[string]time.Time{}
	to.decide(func(_ http.ResponseWriter, events []cloudEvent) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range events {
			if id := fmt.Sprint(e.Data["owner"], "/", e.Data["n"]); arrived[id].IsZero() {
				arrived[id] = time.Now()
			}
		}
		return true
	})
	s := settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "late",
		"status__listen": "127.0.0.1:0",
		"LATE_DB":        url, "pollers__late__source__connection": "LATE_DB", "pollers__late__source__table": "late",
		"pollers__late__source__cursor": c.cursor, "pollers__late__source__order_key": orderKey,
		"pollers__late__source__late_commits": "overlap", "pollers__late__source__late_window": "6s",
		"pollers__late__output__kind": "http", "pollers__late__output__url": to.URL,
		"pollers__late__poll_interval": latePoll(), "pollers__late__schedule": "* * * * * *",
		"pollers__late__lease_ttl": "15s",
	}
	if c.exact {
		s["pollers__late__source__late_commits"] = "exact"
	}
	if os.Getenv("ROWRELAY_LATE_FOR") != "" { // figures are of the default
		delete(s, "pollers__late__source__late_window")
	}
	relay := startRun(t, t.TempDir(), s)
	const owners = 40
	write := func(d time.Duration) {
		ctx, stop := context.WithTimeout(t.Context(), d)
		defer stop()
		var writers sync.WaitGroup
		defer writers.Wait()
		for owner := range owners {
			writers.Go(func() {
				for next := time.Now(); ctx.Err() == nil; wait(ctx, time.Until(next)) {
					mu.Lock()
					n := len(committed)
					mu.Unlock()
					c.transaction(t, db, owner, n)
					mu.Lock()
					committed[fmt.Sprint(owner, "/", n)] = time.Now()
					mu.Unlock()
					next = next.Add(rand.N(40 * time.Millisecond))
				}
			})
		}
	}
	lost := func() int {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for id := range committed {
			if arrived[id].IsZero() {
				n++
			}
		}
		return n
	}
	write(50 * time.Millisecond)
	until(t, "the first rows", func() bool { return lost() == 0 })
	mu.Lock()
	before := maps.Clone(committed)
	mu.Unlock()
	write(writeFor / 2)
	mu.Lock()
	undisturbed := maps.Clone(committed)
	mu.Unlock()
	until(t, "the first rows", func() bool { return lost() == 0 })
	_, early := to.count()
	relay.Kill()
	relay = startRun(t, t.TempDir(), s)
	write(writeFor / 2)
	until(t, "every row", func() bool { return lost() == 0 })
	relay.Interrupt()
	last, inverted := map[float64]float64{}, 0
	seen := map[string]bool{}
	to.mu.Lock()
	for _, row := range to.sequence {
		owner, n := row["owner"].(float64), row["n"].(float64)
		if id := fmt.Sprint(owner, "/", n); !seen[id] {
			if seen[id] = true; n < last[owner] {
				inverted++
			}
			last[owner] = max(last[owner], n)
		}
	}
	to.mu.Unlock()
	var took []time.Duration
	for id, at := range undisturbed {
		if !before[id].IsZero() {
			continue // the relay may not have begun yet
		}
		took = append(took, max(arrived[id].Sub(at), 0))
	}
	slices.Sort(took)
	distinct, repeated := to.count()
	at := func(percent int) time.Duration { return took[len(took)*percent/100].Round(time.Millisecond) }
	name, order := c.name, "not judged"
	if orderKey != "" {
		name, order = name+", shared key", fmt.Sprint(inverted)
	}
	t.Logf("LATE %-34s rows %d (%d/s), LOST %d, DUPLICATED %d (%d before the kill), INVERTED %s, commit to arrival p50 %v, p90 %v, p99 %v, max %v",
		name, distinct, int(float64(len(took))/(writeFor/2).Seconds()), lost(), repeated, early, order, at(50), at(90),
		at(99), took[len(took)-1].Round(time.Millisecond))
	if orderKey != "" && inverted > 0 {
		t.Errorf("%d rows arrived after one of their owner's that was written after them", inverted)
	}
}

// transaction writes one row; one in twenty stays open after that.
func (c *orderCase) transaction(t *testing.T, db *sql.DB, owner, n int) {
	args := []any{owner, n}
	if c.draw != "" {
		var at string
		if err := db.QueryRowContext(t.Context(), c.draw).Scan(&at); err != nil {
			t.Errorf("a writer: %v", err)
		}
		args = append(args, at)
		c.one.Lock()
		defer c.one.Unlock()
	}
	var err error
	if rand.IntN(20) > 0 {
		_, err = db.ExecContext(t.Context(), c.insert, args...)
	} else {
		err = c.held(t, db, args)
	}
	if err != nil {
		t.Errorf("a writer: %v", err)
	}
}

// held writes a row, and commits it 200 ms later.
func (c *orderCase) held(t *testing.T, db *sql.DB, args []any) error {
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(t.Context(), c.insert, args...); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	wait(t.Context(), 200*time.Millisecond)
	return tx.Commit()
}

// latePoll is the poller's poll_interval.
func latePoll() string { return cmp.Or(os.Getenv("ROWRELAY_LATE_POLL"), "10ms") }

// lateFor is for how long writers write: what `make late` says, or else short.
func lateFor(t *testing.T, short time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("ROWRELAY_LATE_FOR")
	if text == "" {
		return short
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("ROWRELAY_LATE_FOR: %v", err)
	}
	return d
}
