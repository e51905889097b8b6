package leased_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
)

// TestD3RepetitionsHaveOneID: a row whose delivery is not settled comes again; the payload of the binding has nothing
// to know it by. Here the id is the same, and that of its next version another.
func TestD3RepetitionsHaveOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		ids := map[string]int{}
		var first *instance
		deliver := func(e change.Event) error {
			if ids[e.ID]++; first != nil {
				m.cut(first, true) // it dies between the delivery and the settlement
			}
			return nil
		}
		m.commit("i 1 1")
		first = m.start(t, deliver)
		first.tick()
		first = nil
		time.Sleep(2 * m.ttl)
		second := m.start(t, deliver)
		second.want("insert 1=1")
		m.commit("u 1 2")
		second.want("update 1=2")
		if len(ids) != 2 {
			t.Errorf("%v: want one id twice, and another once", ids)
		}
	})
}

// TestD5NoUpdateOfNULLs: the binding reads changes and rows apart, so that a row that is deleted in between arrives as
// an update of NULLs. Here it is a delete, and its own change is told again, or moves the state.
func TestD5NoUpdateOfNULLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, nil)
		m.commit("i 1 1", "i 2 1")
		in.want("insert 1=1, insert 2=1")
		m.commit("u 1 2")
		m.between = func() { m.between = nil; m.Commit("d 1") }
		in.want("delete 1")
		in.want("delete 1") // the change of the delete itself
		if in.want(""); m.from != m.Current {
			t.Errorf("LastSyncVersion %d of %d", m.from, m.Current)
		}
	})
}

// TestL1OutageLosesNothing: the binding ignores a row after five attempts, so that an outage of the destination over
// four minutes loses rows. Here an outage counts no attempt.
func TestL1OutageLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		down := true
		var mu sync.Mutex
		got := map[string]bool{}
		in := m.start(t, func(e change.Event) error {
			if down {
				return errDown
			}
			mu.Lock()
			defer mu.Unlock()
			got[string(e.Key)] = true
			return nil
		})
		const rows = 300
		for i := range rows {
			m.commit(fmt.Sprintf("i %d 1", i))
			time.Sleep(6 * time.Second)
			if i%10 == 0 {
				in.tick()
			}
		}
		down = false
		for range 20 {
			in.tick()
			time.Sleep(time.Minute)
		}
		if len(got) != rows {
			t.Errorf("%d of %d rows arrived", len(got), rows)
		}
	})
}

// TestL2L3CorrectedRowIsDelivered: under the binding a new version inherits the attempts of the old one, so that a
// poisoned row that is corrected is never delivered. Here a new version begins anew, and does not wait.
func TestL2L3CorrectedRowIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, func(e change.Event) error {
			if strings.Contains(string(e.Row), `"v":13}`) {
				return errBad
			}
			return nil
		})
		m.commit("i 1 13", "i 2 1")
		in.want("insert 2=1")
		if o := m.own[1]; o.attempts == 0 || o.again.IsZero() || !strings.Contains(o.reason, "bad") {
			t.Errorf("after a failure: %+v", o)
		}
		m.commit("u 1 1")
		in.want("insert 1=1")
		m.commit("u 1 13")
		for range 20 {
			in.tick()
			time.Sleep(2 * time.Second)
		}
		if !m.own[1].dead || m.own[1].attempts != 5 {
			t.Errorf("after five attempts: %+v", m.own[1])
		}
		m.commit("u 1 2")
		in.want("update 1=2")
	})
}

// TestL4OneBadRow: under the binding one bad row in a quiet batch of 100 loses the 99 good ones. Here it becomes a dead
// letter by itself.
func TestL4OneBadRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, func(e change.Event) error {
			if string(e.Key) == `{"id":50}` {
				return errBad
			}
			return nil
		})
		var rows []string
		for i := range 100 {
			rows = append(rows, fmt.Sprintf("i %d 1", i))
		}
		m.commit(rows...)
		if _, sent := in.tick(); strings.Count(sent, "insert") != 99 {
			t.Errorf("delivered %s", sent)
		}
		dead := 0
		for range 10 {
			time.Sleep(2 * time.Second)
			r, _ := in.tick()
			dead += len(r.DeadLettered)
		}
		if dead != 1 || !m.own[50].dead || m.from != m.Current {
			t.Errorf("%d dead letters, %+v, LastSyncVersion %d", dead, m.own[50], m.from)
		}
	})
}

// TestL5CrashesDropNothing: the binding counts attempts when it takes a row, so that five crashes drop it. Here a crash
// counts none, and is waited out.
func TestL5CrashesDropNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.commit("i 1 1")
		for range 8 {
			var in *instance
			in = m.start(t, func(change.Event) error { m.cut(in, true); return nil })
			in.tick()
			time.Sleep(time.Minute + time.Second)
		}
		m.start(t, nil).want("insert 1=1")
	})
}

// TestL6GapsAreTold: the binding jumps over what it has missed. Here nothing is taken until somebody decides.
func TestL6GapsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, nil)
		m.commit("i 1 1")
		in.want("insert 1=1")
		m.commit("i 2 1")
		m.commit("i 3 1")
		m.Clean(m.Current)
		for range 2 {
			r, _ := in.tick()
			if r.Event != poller.SourceGap || !errors.Is(r.Err, poller.ErrGap) ||
				!strings.Contains(r.Err.Error(), "rowrelay state reset") {
				t.Errorf("%s %v", r.Event, r.Err)
			}
		}
		m.from, m.Valid = m.Current+5, 0
		m.start(t, nil)
		if r, _ := m.start(t, nil).tick(); r.Event != poller.SourceGap || !strings.Contains(r.Err.Error(), "ahead of") {
			t.Errorf("restored: %s %v", r.Event, r.Err)
		}
	})
}

// TestD1UpdateIsNoInsert: under the binding an update is told as an insert while LastSyncVersion lags. Here it is one
// since the key's own last delivery.
func TestD1UpdateIsNoInsert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, func(e change.Event) error {
			if string(e.Key) == `{"id":1}` {
				return errBad // holds LastSyncVersion back
			}
			return nil
		})
		m.commit("i 1 1", "i 2 1")
		in.want("insert 2=1")
		m.commit("u 2 2")
		in.want("update 2=2")
	})
}

// TestD2ExpiredHolderSettlesNothing: the binding's leases have no owner, so that one who was frozen releases another's.
func TestD2ExpiredHolderSettlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.commit("i 1 1")
		var frozen *instance
		frozen = m.start(t, func(change.Event) error {
			m.cut(frozen, true) // its renewals do not arrive
			time.Sleep(90 * time.Second)
			other := m.start(t, func(change.Event) error {
				m.cut(frozen, false)
				return nil
			})
			m.commit("u 1 2")
			other.want("insert 1=2")
			m.commit("u 1 3")
			return nil
		})
		if r, _ := frozen.tick(); !r.Event.Fails() {
			t.Errorf("the frozen one: %s", r.Event)
		}
		m.start(t, nil).want("update 1=3")
	})
}

// TestD4AnyNumberOfRowsIsRenewed: the binding's renewal names each row by parameters, and fails over 2100. Here one
// statement renews by the token, however long the delivery takes.
func TestD4AnyNumberOfRowsIsRenewed(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.ttl = 10 * time.Second // less than a request takes
		var rows []string
		for i := range 3000 {
			rows = append(rows, fmt.Sprintf("i %d 1", i))
		}
		m.commit(rows...)
		in := m.start(t, func(e change.Event) error {
			if string(e.Key) == `{"id":0}` {
				time.Sleep(25 * time.Second)
			}
			return nil
		})
		if _, sent := in.tick(); strings.Count(sent, "insert") != 3000 || m.from != m.Current {
			t.Errorf("%d arrived, LastSyncVersion %d of %d", strings.Count(sent, "insert"), m.from, m.Current)
		}
	})
}
