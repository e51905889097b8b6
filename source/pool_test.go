package source

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// sharing returns sources of one table that share a pool of n connections, each as the settings of its number.
func sharing(t *testing.T, url string, n int, settings ...plan.Config) (*Pool, []*Cursor) {
	t.Helper()
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	pool := NewPool(conn, n)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	sources := make([]*Cursor, len(settings))
	for i, cfg := range settings {
		cfg.Poller, cfg.Table, cfg.Cursor = fmt.Sprint("p", i), "o", []string{"v"}
		if sources[i], err = pool.Source(cfg); err != nil {
			t.Fatal(err)
		}
	}
	return pool, sources
}

// TestSharedPool: forty sources on three connections, whose sessions are not all prepared alike, fetch at once, five
// times each. None waits in vain, and no more connections are open than the pool has.
func TestSharedPool(t *testing.T) {
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id int PRIMARY KEY, v int NOT NULL)", "INSERT INTO o VALUES (1, 1)")
	settings := make([]plan.Config, 40)
	for i := range settings {
		settings[i].Timeout = time.Duration(20+i%5) * time.Second
	}
	pool, sources := sharing(t, url, 3, settings...)
	var all sync.WaitGroup
	for _, src := range sources {
		all.Go(func() {
			for range 5 {
				page, err := src.Fetch(t.Context(), change.Range{}, everything)
				if err != nil || len(page.Events) != 1 {
					t.Errorf("%d events, %v", len(page.Events), err)
				}
				if open := pool.db.Stats().OpenConnections; open > 3 {
					t.Errorf("%d connections are open", open)
				}
			}
		})
	}
	all.Wait()
}

// TestAllOfAPoolDied: the server ended every connection while none was used. That is no reason to fail, however many
// they were: more than a statement has attempts.
func TestAllOfAPoolDied(t *testing.T) {
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id int PRIMARY KEY, v int NOT NULL)", "INSERT INTO o VALUES (1, 1)")
	const n = tries + 3
	pool, sources := sharing(t, url, n, make([]plan.Config, n)...)
	var all, open sync.WaitGroup
	open.Add(n)
	for _, src := range sources {
		all.Go(func() {
			if err := src.sessions.run(t.Context(), func(context.Context, *session) error {
				open.Done()
				open.Wait()
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(pool.idle) != n {
		t.Fatalf("%d sessions are kept, want %d", len(pool.idle), n)
	}
	testenv.Exec(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
		"WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if page, err := sources[0].Fetch(t.Context(), change.Range{}, everything); err != nil || len(page.Events) != 1 {
		t.Errorf("%d events, %v", len(page.Events), err)
	}
}

// TestCrowdedPool: who waits for the others' connections in vain is told of these, and not of his own.
func TestCrowdedPool(t *testing.T) {
	url := testenv.SQLite(t)
	openSource(t, url, "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL)")
	pool, sources := sharing(t, url, 1, plan.Config{Timeout: 50 * time.Millisecond})
	pool.slots <- struct{}{}
	_, err := sources[0].Fetch(t.Context(), change.Range{}, everything)
	if err == nil || !strings.Contains(err.Error(), "all 1 connections that the pollers of this database share are busy") {
		t.Error(err)
	}
	<-pool.slots
	if _, err := sources[0].Fetch(t.Context(), change.Range{}, everything); err != nil {
		t.Error(err)
	}
}

// TestSharedPoolBrokenOff: a page that was broken off in the middle of large rows is of the source's own table,
// whichever table the connection read before.
func TestSharedPoolBrokenOff(t *testing.T) {
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id int PRIMARY KEY, v int NOT NULL, w text)",
		"INSERT INTO o SELECT i, i, repeat('x', 10000) FROM generate_series(1, 400) i",
		"CREATE TABLE other (id int PRIMARY KEY, v int NOT NULL)", "INSERT INTO other VALUES (1, 1)")
	pool, sources := sharing(t, url, 1, plan.Config{})
	other, err := pool.Source(plan.Config{Poller: "other", Table: "other", Cursor: []string{"v"}})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := sources[0].Fetch(t.Context(), change.Range{Late: true}, everything)
	if err != nil || whole.Table == "" || whole.Numbers == "" {
		t.Fatalf("the table is %q, the numbers %q: %v", whole.Table, whole.Numbers, err)
	}
	if _, err := other.Fetch(t.Context(), change.Range{}, everything); err != nil {
		t.Fatal(err)
	}
	part, err := sources[0].Fetch(t.Context(), change.Range{Late: true}, poller.Limit{Rows: 400, Bytes: 15_000})
	if err != nil || len(part.Events) == 0 || part.Table != whole.Table || part.Numbers != whole.Numbers {
		t.Errorf("%d rows of table %q (%q), not of %q (%q): %v", len(part.Events), part.Table, part.Numbers, whole.Table,
			whole.Numbers, err)
	}
}
