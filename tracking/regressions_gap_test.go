package tracking_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/tracking"
)

// L6: expired retention and TRUNCATE are silent jumps there: it goes on from the lowest version that is left. Here a
// position from before what is recorded is a gap: nothing is jumped over, and the error says how to go on. A TRUNCATE
// is told as deletes where the engine shows it. (On SQL Server: TestBuiltInGaps of package source.)
func TestL6NothingIsJumpedOver(t *testing.T) {
	t.Parallel()
	for _, engine := range everyEngine {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine)
			i := r.instance(usual)
			r.insert(1, 3)
			r.until(i, inserts(1, 3))
			if engine == "postgres" {
				r.exec("TRUNCATE orders")
				r.until(i, "delete 1, delete 2, delete 3")
			}
			r.exec("INSERT INTO orders VALUES (9, 1)")
			r.install("orders") // its floor is raised: writes may have been missed
			for range 2 {
				report := i.Tick(t.Context())
				if report.Event != poller.SourceGap || !strings.Contains(report.Err.Error(), "accept-gap orders") {
					t.Errorf("%s: %v", report.Event, report.Err)
				}
			}
			if told := r.to.take(); told != "" {
				t.Errorf("told %q across the gap", told)
			}
		})
	}
}

// TestTruncateWithoutTrigger: MySQL and MariaDB fire no trigger at TRUNCATE. Of the rows that it deleted only those are
// told that were written within source__late_window: their changes are read again, and their rows are gone. Both keep
// the table's CREATE_TIME, and there is nothing to warn by: `rowrelay track install` says so.
func TestTruncateWithoutTrigger(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql", "INSERT INTO orders VALUES (1, 1)")
	i := r.instance(usual)
	r.insert(2, 3)
	r.until(i, inserts(2, 3))
	r.exec("TRUNCATE orders", "INSERT INTO orders VALUES (4, 1)")
	next := r.instance(usual)
	for n := 0; n < 3; n++ {
		report := next.Tick(t.Context())
		if report.Err != nil {
			t.Fatal(report.Event, report.Err)
		}
	}
	told := strings.Split(r.to.take(), ", ")
	slices.Sort(told) // keys are sent side by side
	if !slices.Equal(told, []string{"delete 2", "delete 3", "insert 4=1"}) {
		t.Errorf("told %q, want nothing of row 1", told)
	}
	w, err := tracking.Install(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil {
		t.Fatal(err)
	}
	unseen := strings.Join(w.Unseen, "\n")
	if !strings.Contains(unseen, "TRUNCATE fires no trigger") {
		t.Errorf("not said beforehand: %q", unseen)
	}
}

// D5: CHANGETABLE and the table are read apart there, so that a row that is deleted in between arrives as an update of
// NULLs. Here both are read in one snapshot: what is told of a row that is there holds the row.
func TestD5NoUpdateOfNULLs(t *testing.T) {
	t.Parallel()
	for _, engine := range everyEngine {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine)
			i := r.instance(usual)
			seen, empty := 0, []string{}
			r.to.set(func(e *change.Event) bool {
				if seen++; e.Op != change.Delete && !strings.Contains(string(e.Row), `"v":`) ||
					strings.Contains(string(e.Row), "null") {
					empty = append(empty, string(e.Row))
				}
				return false
			}, false)
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			defer end()
			var writer sync.WaitGroup
			writer.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					for _, text := range []string{"INSERT INTO orders VALUES (%d, %d)",
						"UPDATE orders SET v = v + 1 WHERE id = %d OR %d < 0", "DELETE FROM orders WHERE id = %d OR %d < 0"} {
						_, _ = r.db.ExecContext(ctx, fmt.Sprintf(text, n%4, time.Now().UnixNano()))
					}
				}
			})
			for ctx.Err() == nil {
				i.Tick(t.Context())
			}
			writer.Wait()
			if len(empty) > 0 || seen == 0 {
				t.Errorf("%d events, %d of them without a row: %.3q", seen, len(empty), empty)
			}
		})
	}
}
