package leased_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/leased"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestFunctionID: the id that the binding gives the function MyFunc of the site mysite.
func TestFunctionID(t *testing.T) {
	if got := leased.FunctionID("mysite", "MyFunc"); got != "b5e6db7c2a5cc573" {
		t.Error(got)
	}
}

// TestNetChanges: the net change of each key, in the order of versions; the state moves with them.
func TestNetChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, nil)
		m.commit("i 1 1", "i 2 1", "i 3 1")
		m.commit("u 1 2")
		m.commit("d 2")
		r := in.want("delete 2, insert 1=2, insert 3=1")
		if m.from != m.Current || len(m.leases) != 0 || len(m.own) != 0 {
			t.Errorf("LastSyncVersion %d of %d, %d leases, %d rows of ours", m.from, m.Current, len(m.leases), len(m.own))
		}
		if r.Token == 0 || !strings.Contains(strings.Join(r.Warnings, "\n"),
			"SQL trigger Leases table: [az_func].[Leases_"+leased.FunctionID("shop", "orders")+"_901578250]") {
			t.Errorf("token %d, %q", r.Token, r.Warnings)
		}
		m.commit("u 3 2", "d 1", "i 9 9")
		in.want("delete 1, insert 9=9, update 3=2")
	})
}

// TestIdle: a poll for which nothing was committed is one statement, which looks for no changes. Commits of others move
// the state, so that it stays above what is cleaned up.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, nil)
		m.commit("i 1 1")
		in.want("insert 1=1")
		in.want("")
		m.looked, m.statements = 0, 0
		for range 3 {
			in.want("")
		}
		if m.looked != 0 || m.statements != 3 {
			t.Errorf("looked %d times, %d statements", m.looked, m.statements)
		}
		for range 3 {
			m.Current += 10
			in.want("")
			m.Clean(m.Current)
		}
		m.commit("u 1 2")
		in.want("update 1=2")
	})
}

// TestTakesOverFromTheBinding: an app that was stopped on the binding's tables goes on without replay and without a
// gap. What the binding has dropped after its five attempts is delivered, too.
func TestTakesOverFromTheBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.commit("i 1 1", "i 2 1", "i 3 1", "i 4 1", "i 5 1")
		m.commit("u 1 2")
		m.commit("u 2 2")
		m.commit("d 3")
		m.commit("u 4 2")
		past := time.Now().Add(-time.Hour)
		m.from = 1
		m.leases = map[int64]lease{
			1: {version: 2},                             // processed
			2: {version: 3, attempts: 1, expires: past}, // was in flight when the app was stopped
			4: {version: 5, attempts: 5, expires: past}, // ignored for ever
		}
		in := m.start(t, nil)
		in.want("delete 3, update 2=2, update 4=2")
		in.want("")
		if m.from != m.Current || len(m.leases) != 0 {
			t.Errorf("LastSyncVersion %d of %d, %d leases", m.from, m.Current, len(m.leases))
		}
	})
}

// TestLegacyID: the state of the id that the function had before the binding made it of the site's name becomes that of
// the new one. Inserts, updates and deletes across the move come once each; what was processed does not come again.
func TestLegacyID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.commit("i 1 1", "i 2 1", "i 3 1")
		m.commit("u 1 2")
		m.commit("u 2 2")
		m.commit("d 3")
		m.legacy = &legacy{from: 1, leases: map[int64]lease{1: {version: 2}}}
		in := m.start(t, nil)
		in.want("delete 3, update 2=2")
		m.commit("i 4 1", "u 1 3", "d 2")
		in.want("delete 2, insert 4=1, update 1=3")
		if m.legacy != nil || m.from != m.Current {
			t.Errorf("the older state %+v is there, LastSyncVersion is %d of %d", m.legacy, m.from, m.Current)
		}
	})
}

// TestBesideTheBinding: two programs that share one function id deliver each a part. Leases that it did not take are
// named, and waited out by the server's clock: the binding writes local time (D7).
func TestBesideTheBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.east = 2 * time.Hour
		m.commit("i 1 1", "i 2 1")
		m.from = 0
		m.leases = map[int64]lease{1: {version: 1, attempts: 1, expires: time.Now().Add(m.east + time.Minute)}}
		in := m.start(t, nil)
		r, sent := in.tick()
		if r.Event != poller.LeaseAcquireFailed || sent != "" ||
			!strings.Contains(r.Err.Error(), "somebody else holds 1 leases in [az_func].[Leases_") {
			t.Errorf("%s %v, delivered %q", r.Event, r.Err, sent)
		}
		time.Sleep(time.Minute + time.Second)
		in.want("insert 1=1, insert 2=1")
		// Our own are in UTC, although the server's local time is ahead.
		m.commit("u 1 2")
		m.commit("u 2 2")
		in.want("update 1=2, update 2=2")
	})
}

// TestTheTableIsGone: who drops the tables while it runs gets them back, and is told what that means.
func TestTheTableIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, nil)
		m.commit("i 1 1")
		in.want("insert 1=1")
		m.leases = nil
		m.commit("u 1 2")
		if r := in.want("update 1=2"); !strings.Contains(strings.Join(r.Warnings, "\n"), "was gone, and was made anew") {
			t.Errorf("%q", r.Warnings)
		}
	})
}

// TestWhatTheSettingsLeaveOutIsProcessed: source__operations.
func TestWhatTheSettingsLeaveOutIsProcessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, nil, func(c *plan.Config) { c.Operations = []string{"delete"} })
		m.commit("i 1 1", "i 2 1")
		m.commit("d 2")
		in.want("delete 2")
		if m.from != m.Current || len(m.leases) != 0 {
			t.Errorf("LastSyncVersion %d of %d, %d leases", m.from, m.Current, len(m.leases))
		}
	})
}

// TestLatestBeginsNow: source__start=latest, of a function that is not known yet.
func TestLatestBeginsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.commit("i 1 1")
		in := m.start(t, nil, func(c *plan.Config) { c.Start = "latest" })
		in.want("")
		m.commit("u 1 2")
		in.want("update 1=2")
	})
}

// TestTheTablesNameAndReservedColumns: source__leases_table names the leases table; a table that has a column of that
// one is refused, with all of them in one error.
func TestTheTablesNameAndReservedColumns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newServer().start(t, nil)
		tables, _, _, err := in.src.Leases(source.LeasesConfig{Function: "b5e6db7c2a5cc573", Table: "Leases_of_mine"}).
			Tables(t.Context())
		if err != nil || tables.Leases != "Leases_of_mine" || tables.Own() != "Leases_of_mine_rowrelay" {
			t.Errorf("%+v, %v", tables, err)
		}
		m := newServer()
		m.reserved = []string{"v", "ID"} // what the model's table has
		if r, _ := m.start(t, nil).tick(); r.Event != poller.ConfigInvalid ||
			!strings.Contains(r.Err.Error(), "found reserved column name(s) in table dbo.orders: id, v") {
			t.Errorf("%s %v", r.Event, r.Err)
		}
	})
}

// TestTheWholeTableBetween: the way that stands in for a snapshot, after a gap. The state is set to now, somebody else
// reads the table, and the leases go on: whatever was written meanwhile comes, so that every key ends as the table has
// it.
func TestTheWholeTableBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, nil)
		m.commit("i 1 1", "i 2 1", "i 3 1")
		in.want("insert 1=1, insert 2=1, insert 3=1")
		m.commit("u 1 2")
		m.commit("u 2 2")
		m.Clean(m.Current)
		if r, _ := in.tick(); r.Event != poller.SourceGap || !strings.Contains(r.Err.Error(), "#the-whole-table-first") {
			t.Fatalf("%s %v", r.Event, r.Err)
		}
		if _, err := in.leases.Reset(t.Context(), -2); err != nil {
			t.Fatal(err)
		}
		m.commit("u 3 2") // before the row is read, and so again
		got := maps.Clone(m.Rows)
		m.commit("u 2 3", "d 1") // after
		in.relay = pollertest.Relay(t, in.feed, pollertest.Func(func(_ context.Context, d change.Delivery) error {
			for i := range d.Events {
				e := &d.Events[i]
				var row struct{ ID, V int64 }
				if err := json.Unmarshal(e.Row, &row); err != nil {
					return err
				}
				if got[row.ID] = row.V; e.Op == change.Delete {
					delete(got, row.ID)
				}
			}
			return nil
		}), pollertest.Hundred)
		if r := in.relay.Tick(t.Context()); r.Event.Fails() || r.Rows != 3 {
			t.Errorf("%s %v, %d rows", r.Event, r.Err, r.Rows)
		}
		if !maps.Equal(got, m.Rows) {
			t.Errorf("the receiver has %v, the table %v", got, m.Rows)
		}
	})
}

// TestContexts: a change has the context of the write that it is of, also in a retry, and as the binding reads it.
func TestContexts(t *testing.T) {
	for _, compat := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newServer()
			m.compat = compat
			var contexts []string
			refused := false
			in := m.start(t, func(e change.Event) error {
				text := told(&e)
				if e.Written != nil {
					text += " " + e.Written.Columns + e.Written.Context
				}
				contexts = append(contexts, text)
				if refused = !refused; refused && e.Written != nil {
					return errBad
				}
				return nil
			})
			m.commit("i 1 1")
			in.tick()
			contexts, refused = nil, false
			m.commit("bare u 1 2")
			for range 3 {
				in.tick()
				time.Sleep(2 * time.Minute)
			}
			if got := strings.Join(contexts, ", "); got != "update 1=2 0x52454C59, update 1=2 0x52454C59" {
				t.Error(got)
			}
		})
	}
}
