package leased_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/leased"
	"github.com/rowrelay/rowrelay/poller"
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

// TestInstancesShare: three instances, of which one after the other is cut off, a destination that refuses a key for a
// while, and a writer: every key ends on its newest state, in order, and what nobody was cut off from comes once.
func TestInstancesShare(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := newServer()
			var mu sync.Mutex
			last, inFlight := map[string]string{}, map[string]bool{}
			versions := map[string]int64{}
			quiet := false
			deliver := func(e change.Event) error {
				key := string(e.Key)
				mu.Lock()
				if inFlight[key] {
					t.Errorf("seed %d: key %s is in flight twice", seed, key)
				}
				inFlight[key] = true
				wait, bad := time.Duration(r.IntN(2000))*time.Millisecond, !quiet && key == `{"id":3}` && r.IntN(2) == 0
				mu.Unlock()
				time.Sleep(wait)
				mu.Lock()
				defer mu.Unlock()
				delete(inFlight, key)
				if bad {
					return errBad
				}
				var at struct{ Value int64 }
				if err := json.Unmarshal(e.Cursor, &at); err != nil || at.Value < versions[key] {
					t.Errorf("seed %d: key %s at version %d after %d: %v", seed, key, at.Value, versions[key], err)
				}
				versions[key], last[key] = at.Value, told(&e)
				return nil
			}
			isCut := func(in *instance) bool {
				m.mu.Lock()
				defer m.mu.Unlock()
				return in.cut
			}
			draw := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n)
			}
			run := func(in *instance, until time.Time, done chan struct{}) {
				for time.Now().Before(until) && !isCut(in) {
					in.relay.Tick(t.Context())
					time.Sleep(time.Second)
				}
				close(done)
			}
			var ended []chan struct{}
			for round := range 3 {
				end := time.Now().Add(3 * time.Minute)
				var all []*instance
				for range 3 {
					in, done := m.start(t, deliver), make(chan struct{})
					all, ended = append(all, in), append(ended, done)
					go run(in, end, done)
				}
				for range 60 {
					id := draw(10)
					m.mu.Lock()
					op := "i"
					if _, there := m.Rows[int64(id)]; there {
						op = []string{"u", "u", "d"}[draw(3)]
					}
					m.mu.Unlock()
					m.commit(fmt.Sprintf("%s %d %d", op, id, m.Current+1))
					time.Sleep(time.Duration(draw(4000)) * time.Millisecond)
				}
				m.cut(all[round], true)
				for _, done := range ended {
					<-done
				}
			}
			quiet = true
			in := m.start(t, deliver)
			for range 5 {
				in.tick()
				time.Sleep(time.Minute)
			}
			for id := range int64(10) {
				key, want := fmt.Sprintf(`{"id":%d}`, id), fmt.Sprintf("delete %d", id)
				if v, there := m.Rows[id]; there {
					want = fmt.Sprintf("%d=%d", id, v)
				}
				if id == 3 && m.own[id].dead {
					continue // it was refused as often as it may be
				}
				if got := last[key]; !strings.HasSuffix(got, want) && (got != "" || m.States[id] != nil) {
					t.Errorf("seed %d: key %d ended as %q, want %q", seed, id, got, want)
				}
			}
			if m.from != m.Current || len(m.leases) != 0 {
				t.Errorf("seed %d: LastSyncVersion %d of %d, %d leases", seed, m.from, m.Current, len(m.leases))
			}
		})
	}
}
