package tracking_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/tracked"
	"github.com/rowrelay/rowrelay/tracking"
)

// purge removes what was delivered up to all of some positions, and returns how many keys are left.
func (r *rig) purge(src *source.Cursor, positions ...change.Cursor) (left int) {
	r.Helper()
	return r.purgeOlder(time.Hour, src, positions...)
}

// purgeOlder is purge with what is older than a time, delivered or not.
func (r *rig) purgeOlder(age time.Duration, src *source.Cursor, positions ...change.Cursor) (left int) {
	r.Helper()
	return r.purgeTo(tracking.Keep{For: age}, src, positions...)
}

func (r *rig) purgeTo(keep tracking.Keep, src *source.Cursor, positions ...change.Cursor) (left int) {
	r.Helper()
	readers, err := src.Readers(r.Context(), &tracked.Needs{At: positions[0], Parked: positions[1:]})
	if err != nil {
		r.Fatal(err)
	}
	w, err := tracking.Purge(r.Context(), r.conn, "orders", "", "orders", tracking.Writes{}, readers, keep)
	if err == nil {
		one := r.conn.WriteDB(1)
		defer func() { _ = one.Close() }()
		err = w.Apply(r.Context(), one)
	}
	if err != nil {
		r.Fatalf("%v\n%s", err, w.Script())
	}
	if err := r.db.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM rowrelay_changes_orders").Scan(&left); err != nil {
		r.Fatal(err)
	}
	return left
}

// read follows a position to the end, one row in each page.
func (r *rig) read(src *source.Cursor, at change.Cursor) (after change.Cursor, events []change.Event, err error) {
	for range 100 {
		page, err := src.Fetch(r.Context(), change.Range{After: at}, poller.Limit{Rows: 1, Bytes: 1 << 20})
		if err != nil {
			return at, events, err
		}
		events = append(events, page.Events...)
		if page.To != nil {
			at = page.To
		} else if n := len(page.Events); n > 0 {
			at = page.Events[n-1].Position()
		}
		if len(page.Events) == 0 && !page.More {
			break
		}
	}
	return at, events, nil
}

// TestPurge: what is purged was delivered to everybody; a key that is parked keeps its delete; and a position that
// nobody spoke of is a gap, and not passed over.
func TestPurge(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			open := func() *source.Cursor {
				src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true}, r.conn)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = src.Close() })
				return src
			}
			src := open()
			start := r.start(src)
			follow := func(at change.Cursor, want int) (change.Cursor, []change.Event) {
				t.Helper()
				r.finished()
				at, events, err := r.read(src, at)
				if err != nil || len(events) != want {
					t.Fatalf("%d events, want %d: %v", len(events), want, err)
				}
				return at, events
			}
			r.insert(1, 5)
			slow, _ := follow(start, 5)
			r.exec("DELETE FROM orders WHERE id = 1", "DELETE FROM orders WHERE id = 2", "DELETE FROM orders WHERE id = 3")
			fast, deletes := follow(slow, 3)
			r.exec("UPDATE orders SET v = 2 WHERE id = 4")
			fast, _ = follow(fast, 1)

			if left := r.purge(src, fast, start); left != 5 {
				t.Errorf("%d keys are left, although one position is at the beginning", left)
			}
			if left := r.purge(src, fast, slow); left != 5 {
				t.Errorf("%d keys are left, although one position is before the deletes", left)
			}
			if left := r.purge(src, fast, deletes[1].Cursor); left != 4 {
				t.Errorf("%d keys are left, and one delete came before the parked one", left)
			}
			again, err := src.Reread(t.Context(), [][]byte{deletes[1].Key})
			if err != nil || len(again) != 1 || again[0].Op != change.Delete {
				t.Errorf("the parked delete: %+v, %v", again, err)
			}
			r.exec("INSERT INTO orders VALUES (3, 7)") // a key that was deleted, and is there again
			if left := r.purge(src, fast); left != 3 {
				t.Errorf("%d keys are left: those that are there", left)
			}
			_, told, err := r.read(src, fast)
			if err != nil || len(told) != 1 || told[0].Op != change.Insert {
				t.Errorf("after it: %+v, %v", told, err)
			}
			if _, _, err := r.read(open(), slow); !errors.Is(err, poller.ErrGap) || !strings.Contains(err.Error(), "purged") {
				t.Errorf("a position before what was purged: %v", err)
			}
		})
	}
}

// TestPurgeInTheMidstOfAWindow: a poller that stops between two pages of a backlog goes on there after a purge.
func TestPurgeInTheMidstOfAWindow(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, Start: "latest"},
				r.conn)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = src.Close() }()
			at := r.start(src)
			r.insert(1, 9)
			r.exec("DELETE FROM orders WHERE id <= 2", "UPDATE orders SET v = 2 WHERE id > 5", "DELETE FROM orders WHERE id = 3")
			seen := map[string]bool{}
			for range 50 {
				page, err := src.Fetch(t.Context(), change.Range{After: at}, poller.Limit{Rows: 1, Bytes: 1 << 20})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Events {
					seen[string(e.Key)], at = true, e.Position()
				}
				if page.To != nil {
					at = page.To
				}
				if len(page.Events) == 0 && !page.More {
					break
				}
				r.purge(src, at)
			}
			if len(seen) != 9 {
				t.Errorf("%d of 9 keys were told: %v", len(seen), seen)
			}
		})
	}
}
