package leased_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// asBinding runs a test of source__compat=binding: what the binding does, L and D of its faults included, is done; what
// it drops or jumps over is told.
func asBinding(t *testing.T, test func(*testing.T, *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.compat, m.letters = true, &graves{}
		test(t, m)
	})
}

// later ticks when the leases have lapsed.
func (in *instance) later() (poller.Report, string) {
	time.Sleep(time.Minute + time.Second)
	return in.tick()
}

// TestAsBinding: the net changes of a batch, of which there is one at a time, and the state moves to the second-highest
// version of it: the last one waits for the next batch, as under the binding.
func TestAsBinding(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		in := m.start(t, nil)
		m.commit("i 1 1", "i 2 1")
		m.commit("u 1 2")
		m.commit("i 3 1")
		m.commit("d 2")
		in.want("delete 2, insert 1=2, insert 3=1")
		if m.from != 3 || len(m.leases) != 1 || m.leases[2].version != 4 || len(m.own) != 0 {
			t.Errorf("LastSyncVersion %d, leases %v, %v of ours", m.from, m.leases, m.own)
		}
		in.want("")
		m.looked = 0
		if in.want(""); m.looked != 0 {
			t.Errorf("an idle poll looked for changes %d times", m.looked)
		}
	})
}

// TestAsBindingOneBatchAtATime: a further batch is taken when the one before is released, and the polling interval has
// passed.
func TestAsBindingOneBatchAtATime(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		var rows []string
		for n := range 250 {
			rows = append(rows, fmt.Sprintf("i %d 1", n))
		}
		in := m.start(t, nil)
		m.commit(rows...)
		for n, want := range []int{100, 100, 50, 0} {
			if _, sent := in.tick(); strings.Count(sent, "insert") != want {
				t.Errorf("batch %d: %s", n, sent)
			}
		}
	})
}

// TestAsBindingBesideIt: our instance and one of the binding work beside each other on one function id: each row comes
// once, and what one leaves the other takes when its lease has lapsed, in the server's local time (D7).
func TestAsBindingBesideIt(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		m.east = 2 * time.Hour
		in := m.start(t, nil)
		in.want("")
		m.commit("i 1 1", "i 2 1")
		theirs, _ := m.bindingTake(1, time.Minute)
		in.want("insert 2=1")
		m.bindingRelease(theirs)
		m.commit("u 1 2", "u 2 2")
		if lost, _ := m.bindingTake(1, time.Minute); len(lost) != 1 {
			t.Fatal(lost)
		}
		in.want("update 2=2")
		in.want("")
		if _, sent := in.later(); sent != "update 1=2" {
			t.Error(sent)
		}
	})
}

// TestAsBindingL1OutageDropsAndTells: five attempts of an outage drop a row, for ever. Here people are told of each.
func TestAsBindingL1OutageDropsAndTells(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		in := m.start(t, func(change.Event) error { return errDown })
		m.commit("i 1 1", "i 2 1")
		for n := range 5 {
			if r, _ := in.tick(); r.Event != poller.HandlerFailed || r.Parked != 2 || m.leases[1].attempts != n+1 {
				t.Errorf("attempt %d: %s, %d failed, lease %+v", n, r.Event, r.Parked, m.leases[1])
			}
			in.want("") // its leases have not lapsed
			time.Sleep(time.Minute + time.Second)
		}
		in.to = nil
		if r := in.want(""); len(r.DeadLettered) != 2 ||
			m.letters.buried() != `{"id":1} {"id":1,"v":1}, {"id":2} {"id":2,"v":1}` {
			t.Errorf("%+v, %s", r.DeadLettered, m.letters.buried())
		}
		if r := in.want(""); len(r.DeadLettered) != 0 {
			t.Errorf("told again: %+v", r.DeadLettered)
		}
	})
}

// TestAsBindingL2L3CorrectedRowIsDropped: a new version inherits the attempts, so that a row that is corrected is never
// delivered; of each version people are told.
func TestAsBindingL2L3CorrectedRowIsDropped(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		in := m.start(t, func(e change.Event) error {
			if strings.Contains(string(e.Row), `"v":13}`) {
				return errBad
			}
			return nil
		})
		m.commit("i 1 13")
		for range 5 {
			in.later()
		}
		in.later()
		m.commit("u 1 2")
		in.want("")
		if got := m.letters.buried(); got != `{"id":1} {"id":1,"v":13}, {"id":1} {"id":1,"v":2}` {
			t.Error(got)
		}
	})
}

// TestAsBindingL4OneBadRowDropsItsBatch: one bad row in a quiet batch of 100 drops the 99 good ones with it; the state
// goes on without them, when people were told of all.
func TestAsBindingL4OneBadRowDropsItsBatch(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		calls := 0
		in := m.start(t, func(e change.Event) error {
			if calls++; string(e.Key) == `{"id":50}` {
				return errBad
			}
			return nil
		})
		var rows []string
		for n := range 100 {
			rows = append(rows, fmt.Sprintf("i %d 1", n))
		}
		m.commit(rows...)
		for range 5 {
			in.later()
		}
		if calls != 500 {
			t.Errorf("%d events were sent: nothing is searched for, and nothing repeated before its lease has lapsed", calls)
		}
		m.commit("i 200 1")
		m.commit("i 201 1")
		r, sent := in.later()
		if sent != "insert 200=1, insert 201=1" || len(r.DeadLettered) != 100 {
			t.Errorf("%s, %d dead letters", sent, len(r.DeadLettered))
		}
		if m.from != 2 {
			t.Errorf("LastSyncVersion %d", m.from)
		}
	})
}

// TestAsBindingL5CrashesDropAndTell: an attempt is counted when a row is taken, so that five crashes drop it; who comes
// next tells of it.
func TestAsBindingL5CrashesDropAndTell(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		m.commit("i 1 1")
		for range 5 {
			var in *instance
			in = m.start(t, func(change.Event) error { m.cut(in, true); return nil })
			in.later()
		}
		r, sent := m.start(t, nil).later()
		if sent != "" || len(r.DeadLettered) != 1 || r.DeadLettered[0].Attempts != 5 {
			t.Errorf("%q, %+v", sent, r.DeadLettered)
		}
	})
}

// TestAsBindingL6GapsAreJumpedAndTold: what is not retained any more is jumped over. Here a warning says how much.
func TestAsBindingL6GapsAreJumpedAndTold(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		in := m.start(t, nil)
		in.want("")
		for n := range 5 {
			m.commit(fmt.Sprintf("i %d 1", n))
		}
		m.Clean(3)
		r := in.want("insert 3=1, insert 4=1")
		if !strings.Contains(strings.Join(r.Warnings, "\n"), "3 versions were jumped over, to version 3") {
			t.Errorf("%q", r.Warnings)
		}
		m.from = m.Current + 5
		m.commit("i 9 1")
		if r := in.want(""); !strings.Contains(strings.Join(r.Warnings, "\n"), "ahead of the database's") {
			t.Errorf("restored: %q", r.Warnings)
		}
	})
}

// TestAsBindingD1UpdateIsAnInsert: the operation is relative to LastSyncVersion, which lags, so that an update is told
// as an insert.
func TestAsBindingD1UpdateIsAnInsert(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		in := m.start(t, nil)
		m.commit("i 1 1")
		m.commit("i 2 1")
		in.want("insert 1=1, insert 2=1")
		m.commit("u 2 2")
		in.want("insert 2=2")
	})
}

// TestAsBindingD2NoFencing: nobody checks whose a lease is. One who was frozen releases what another holds by now, and
// the row is delivered twice.
func TestAsBindingD2NoFencing(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		m.commit("i 1 1")
		var frozen *instance
		frozen = m.start(t, func(change.Event) error {
			m.cut(frozen, true) // its renewals do not arrive
			time.Sleep(90 * time.Second)
			other := m.start(t, func(change.Event) error {
				m.cut(frozen, false)
				return errDown
			})
			if r, _ := other.tick(); r.Event != poller.HandlerFailed {
				t.Errorf("the other: %s", r.Event)
			}
			return nil
		})
		if r, sent := frozen.tick(); sent != "insert 1=1" || r.Event.Fails() {
			t.Errorf("the frozen one: %s, %s %v", sent, r.Event, r.Err)
		}
		if l := m.leases[1]; !l.expires.IsZero() {
			t.Errorf("another's lease was not released: %+v", l)
		}
	})
}

// TestAsBindingRenews: leases are renewed while a function takes longer than they last, however many rows there are (D4
// of the binding is not repeated: there renewals over 2,100 parameters fail).
func TestAsBindingRenews(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		m.commit("i 1 1")
		in := m.start(t, func(change.Event) error {
			time.Sleep(3 * time.Minute)
			m.mu.Lock()
			defer m.mu.Unlock()
			if theirs, _ := m.bindingTake(100, time.Minute); len(theirs) > 0 {
				t.Errorf("another took %v", theirs)
			}
			return nil
		})
		in.want("insert 1=1")
	})
}

// TestAsBindingD5IsADelete: a row that is deleted between the two reads of a batch is told as a delete. (The binding
// tells an update of NULLs.)
func TestAsBindingD5IsADelete(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		in := m.start(t, nil)
		m.commit("i 1 1")
		in.want("insert 1=1")
		m.commit("u 1 2")
		m.between = func() { m.between = nil; m.Commit("d 1") }
		in.want("delete 1")
	})
}

// TestAsBindingDeadLettersThatCannotBeWritten: of a row whose dead letter could not be written people were not told: it
// comes again, and the state does not move past it meanwhile.
func TestAsBindingDeadLettersThatCannotBeWritten(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		in := m.start(t, func(e change.Event) error {
			if string(e.Key) == `{"id":1}` {
				return errBad
			}
			return nil
		})
		m.commit("i 1 1")
		for range 5 {
			in.later()
		}
		m.letters.err = errors.New("full")
		m.commit("i 2 1")
		m.commit("i 3 1")
		if r, sent := in.later(); sent != "insert 2=1, insert 3=1" || r.Event != poller.HandlerFailed || m.from != 0 {
			t.Errorf("%s, %s %v, LastSyncVersion %d", sent, r.Event, r.Err, m.from)
		}
		m.letters.err = nil
		if r := in.want(""); len(r.DeadLettered) != 1 {
			t.Errorf("%+v", r.DeadLettered)
		}
		m.commit("i 4 1")
		m.commit("i 5 1")
		if in.want("insert 4=1, insert 5=1"); m.from != 4 {
			t.Errorf("LastSyncVersion %d", m.from)
		}
	})
}

// TestAsBindingAndBack: from ours to the binding's way and back nothing is lost, and nothing comes again that was
// processed.
func TestAsBindingAndBack(t *testing.T) {
	asBinding(t, func(t *testing.T, m *server) {
		m.compat = false
		m.commit("i 1 1", "i 2 1")
		m.start(t, nil).want("insert 1=1, insert 2=1")
		m.compat = true
		m.commit("u 1 2")
		in := m.start(t, func(change.Event) error { return errDown })
		for range 6 {
			in.later()
		}
		if got := m.letters.buried(); got != `{"id":1} {"id":1,"v":2}` {
			t.Error(got)
		}
		m.compat = false
		m.start(t, nil).want("update 1=2") // what the binding ignores
		m.commit("u 2 2")
		m.start(t, nil).want("update 2=2")
	})
}
