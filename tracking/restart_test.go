package tracking_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
)

// TestProcessesFollowEachOther: what one process remembers of the last window is known to the next, also where a
// window has several pages, so that a position between them is stored. Nothing comes twice.
func TestProcessesFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			for id := range 35 {
				r.exec(fmt.Sprintf("INSERT INTO orders VALUES (%d, 1)", id))
			}
			for n := range 7 {
				if n == 5 {
					r.exec("INSERT INTO orders VALUES (5000, 1)")
				}
				s := usual
				s.batch, s.batches = 10, 1
				if report := r.instance(s).Tick(t.Context()); report.Failed() {
					t.Fatal(report.Err)
				}
			}
			if d := r.differ(); len(d) > 0 || r.to.repeated > 0 {
				t.Errorf("%d events came twice; different: %v", r.to.repeated, d)
			}
		})
	}
}

// TestServerRestarts: the server is restarted under a poller that goes on, and beside a transaction that is open. Ticks
// fail while it is away, and say nothing else than that; then everything comes that was committed, nothing else, and
// nothing twice in another order. A restart is no gap.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"postgres", "mysql"} {
		t.Run(name, func(t *testing.T) {
			var url string
			var restart func(while func())
			if name == "postgres" {
				s := testenv.OwnPostgres(t)
				url, restart = s.URL, s.Restart
			} else {
				s := testenv.OwnMariaDB(t)
				url, restart = s.URL, s.Restart
			}
			r := newRigAt(t, name, url)
			r.db.SetMaxIdleConns(0) // none of the test's own dies with the server
			i := r.instance(settings{ttl: 5 * time.Second, maxAttempts: 5, delay: 1, batch: 10})
			ctx, end := context.WithCancel(t.Context())
			var mu sync.Mutex
			var failed []poller.Report
			var ticks sync.WaitGroup
			ticks.Go(func() {
				for ctx.Err() == nil {
					if report := i.Tick(ctx); report.Failed() && ctx.Err() == nil {
						mu.Lock()
						failed = append(failed, report)
						mu.Unlock()
					}
				}
			})
			defer func() { end(); ticks.Wait() }()
			failures := func() []poller.Report {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(failed)
			}
			delivered := func(what string) {
				t.Helper()
				programtest.Until(t, what, func() bool {
					for _, report := range failures() {
						if report.Event != poller.FetchFailed {
							t.Fatalf("%s: %s: %v", what, report.Event, report.Err)
						}
					}
					return len(r.differ()) == 0
				})
			}
			r.fill("orders", 1000)
			delivered("the first rows")
			r.exec("UPDATE orders SET v = 2", "DELETE FROM orders WHERE id = 7")
			open := testenv.Begin(t, r.db, "INSERT INTO orders VALUES (5000, 1)")
			before := len(failures())
			restart(func() {
				programtest.Until(t, "a tick to fail", func() bool { return len(failures()) > 0 })
			})
			_ = open.Rollback() // its connection is gone
			r.exec("UPDATE orders SET v = 3 WHERE id <= 500", "DELETE FROM orders WHERE id = 8",
				"INSERT INTO orders VALUES (7, 4)")
			delivered("what was written before the restart and after it")
			if before > 0 || len(r.to.inverted) > 0 {
				t.Errorf("%d ticks failed before the restart; INVERTED %v", before, r.to.inverted)
			}
		})
	}
}

// TestAnotherDialectOfMariaDB: with a sql_mode of a server that stands in for Oracle, an empty text is NULL.
func TestAnotherDialectOfMariaDB(t *testing.T) {
	t.Parallel()
	s := testenv.OwnMariaDB(t)
	testenv.Exec(t, testenv.Open(t, "mysql", testenv.MySQLDSN(t, s.URL)),
		"SET GLOBAL sql_mode = 'EMPTY_STRING_IS_NULL,ANSI_QUOTES,NO_BACKSLASH_ESCAPES'")
	r := newRigAt(t, "mysql", s.URL)
	r.fill("orders", 10)
	report := r.instance(settings{ttl: 5 * time.Second, maxAttempts: 5, delay: 1, batch: 10}).Tick(t.Context())
	if report.Failed() || report.Rows == 0 {
		t.Errorf("%d rows: %v", report.Rows, report.Err)
	}
}
