package checkpointed

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// amend changes the document under a live lease, as an operator's commands do.
func (p *process) amend(change func(*state.Document)) {
	p.t.Helper()
	if _, err := p.keeper.Amend(p.t.Context(), func(d *state.Document) error { change(d); return nil }); err != nil {
		p.t.Fatal(err)
	}
}

func pause1(d *state.Document) { d.Paused = &state.Paused{At: time.Now(), By: "ann@laptop"} }

// TestPausedPollerDoesNothing: its tick ends as paused, which is no failure, without asking the database; resume lets
// it go on.
func TestPausedPollerDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.tick()
		p.amend(pause1)
		s.fill(2, 2)
		fetches := len(s.fetched)
		r := p.tick()
		if r.Event != poller.Paused || r.Failed() || !strings.Contains(r.Err.Error(), "ann@laptop") ||
			!strings.Contains(r.Err.Error(), "state resume orders") || len(s.fetched) != fetches {
			t.Errorf("%s: %v, %d fetches", r.Event, r.Err, len(s.fetched)-fetches)
		}
		p.amend(func(d *state.Document) { d.Paused = nil })
		if r := p.tick(); r.Event != poller.TickComplete || r.Rows != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// TestPauseTakesEffectAtTheNextBatch: what was handed out is settled, nothing more is, and the lease is given back. It
// is met with the next write, and without one within a second.
func TestPauseTakesEffectAtTheNextBatch(t *testing.T) {
	for name, writes := range map[string]bool{"with a write": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.fill(1, 10)
				p := newProcess(t, nil, s, nil)
				p.limit = 2
				session := p.open()
				one, two := p.judge(session, p.next(session)), p.judge(session, p.next(session))
				newProcess(t, p.memory, s, nil).amend(pause1)
				if writes {
					p.settle(session, one)
				} else {
					time.Sleep(time.Second)
				}
				_, err := session.Next(t.Context(), poller.Limit{Rows: 2, Bytes: 1 << 20})
				var fault *poller.Fault
				if !errors.As(err, &fault) || fault.Event != poller.Paused {
					t.Fatalf("the next batch: %v", err)
				}
				if !writes {
					p.settle(session, one)
				}
				p.settle(session, two)
				if err := session.Close(t.Context(), &poller.Report{}); err != nil {
					t.Fatal(err)
				}
				if d := p.doc(); index(d.Checkpoint.Cursor) != 4 || d.Lease.OwnerID != "" || d.Paused == nil {
					t.Errorf("position %s, owner %q, paused %v", d.Checkpoint.Cursor, d.Lease.OwnerID, d.Paused)
				}
			})
		})
	}
}

// TestBusyTickReadsThePauseOnceASecond: it costs no more reads than that.
func TestBusyTickReadsThePauseOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.tick()
		session := p.open()
		p.store.Counts(storetest.Load)
		for range 100 {
			p.next(session)
			time.Sleep(100 * time.Millisecond)
		}
		if n := p.store.Counts(storetest.Load); n < 8 || n > 10 {
			t.Errorf("%d reads in 10 s", n)
		}
	})
}

// TestFailover: with source__on_failover=continue a failover is a warning and is recorded; anything else that changed
// is a gap.
func TestFailover(t *testing.T) {
	for _, c := range []struct {
		was, is string
		on      bool
		gap     bool
	}{
		{"shop/1", "shop/2", true, false},
		{"shop/1", "shop/2", false, true},
		{"shop/1", "other/1", true, true},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.incarnation = c.was
				s.fill(1, 1)
				p := newProcess(t, nil, s, func(cfg *Config) { cfg.Continue = c.on })
				p.tick()
				s.incarnation = c.is
				s.fill(2, 2)
				r := p.tick()
				if c.gap {
					if r.Event != poller.SourceGap || !strings.Contains(r.Err.Error(), "accept-gap") ||
						!strings.Contains(r.Err.Error(), "--to beginning") {
						t.Errorf("%s: %v", r.Event, r.Err)
					}
					s.describe.Ranges = false // changes, of which the beginning is not the table's
					if r = p.tick(); !strings.Contains(fmt.Sprint(r.Err), "--to snapshot") {
						t.Errorf("of changes: %v", r.Err)
					}
					return
				}
				if r.Event != poller.TickComplete || len(r.Warnings) != 1 || p.doc().Checkpoint.Incarnation != c.is {
					t.Errorf("%s: %v, %q, incarnation %s", r.Event, r.Err, r.Warnings, p.doc().Checkpoint.Incarnation)
				}
				s.fill(3, 3)
				if r = p.tick(); r.Event != poller.TickComplete || len(r.Warnings) != 0 {
					t.Errorf("the next tick: %s, %q", r.Event, r.Warnings)
				}
			})
		})
	}
}

// TestPositionAheadOfTheSource: the source says so, and the tick names the two ways on.
func TestPositionAheadOfTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		p := newProcess(t, nil, s, nil)
		s.err = fmt.Errorf("%w: the position 7 is above IDENT_CURRENT 5", poller.ErrGap)
		if r := p.tick(); r.Event != poller.SourceGap || !strings.Contains(r.Err.Error(), "accept-gap") ||
			!strings.Contains(r.Err.Error(), "IDENT_CURRENT") {
			t.Errorf("%s: %v", r.Event, r.Err)
		}
	})
}

// TestLateCommitsAreChosenOnce: the mode is stored with the first commit, and another one is refused until it is
// accepted.
func TestLateCommitsAreChosenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Late = late.Settle
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.tick()
		if got := p.doc().Late.Mode; got != "settle" {
			t.Errorf("stored: %q", got)
		}
		s.describe.Late = late.Overlap
		r := p.tick()
		if r.Event != poller.FingerprintMismatch ||
			!strings.Contains(r.Err.Error(), "late_commits was settle, is now overlap") ||
			!strings.Contains(r.Err.Error(), "accept-fingerprint") {
			t.Errorf("%s: %v", r.Event, r.Err)
		}
		p.edit(func(d *state.Document) { d.Late.Mode = "" })
		s.fill(2, 2)
		if r := p.tick(); r.Event != poller.TickComplete || p.doc().Late.Mode != "overlap" {
			t.Errorf("%s: %v, stored %q", r.Event, r.Err, p.doc().Late.Mode)
		}
	})
}

// TestParkingBesideOverlap: in overlap mode a parked row is stored at once, though the memory is not; a crash then
// costs duplicates of others, and neither the parked row nor one that it absorbed.
func TestParkingBesideOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Late = late.Overlap
		s.fill(1, 5)
		store := memstore.New()
		one := newProcess(t, store, s, nil)
		one.verdict = poison(3)
		session := one.open()
		one.settle(session, one.judge(session, one.next(session)))
		if len(one.parked()) != 1 || !one.doc().Checkpoint.Cursor.IsStart() {
			t.Fatalf("parked %+v, low edge %s", one.parked(), one.doc().Checkpoint.Cursor)
		}
		one.store.Crash()
		s.put(3, "t3", "good")
		time.Sleep(2 * time.Minute)
		two := newProcess(t, store, s, nil)
		two.verdict = poison()
		for range 20 {
			two.tick()
			time.Sleep(30 * time.Second)
		}
		if len(two.parked()) != 0 || index(two.doc().Checkpoint.Cursor) != 6 {
			t.Errorf("parked %+v, low edge %s", two.parked(), two.doc().Checkpoint.Cursor)
		}
		rows := slices.Concat(one.got(poller.Accepted), two.got(poller.Accepted))
		slices.Sort(rows)
		if rows = slices.Compact(rows); !slices.Equal(rows, []int{1, 2, 3, 4, 5}) {
			t.Errorf("accepted %v", rows)
		}
	})
}

// TestFailedCommitForgetsWhatItRemembered: in overlap mode a row that was parked by a commit that failed is not taken
// for delivered by the same process.
func TestFailedCommitForgetsWhatItRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Late = late.Overlap
		s.fill(1, 3)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(2)
		failures := 0
		p.store.Plan(func(op storetest.Op) (storetest.Fault, int) {
			if op == storetest.Create && len(p.sent) > 0 && failures < 4 { // each try to write the object of the parked row
				failures++
				return storetest.NotDone, 0
			}
			return storetest.None, 0
		})
		if r := p.tick(); r.Event != poller.CommitFailed || r.Rows != 0 {
			t.Fatalf("%s: %v", r.Event, r.Err)
		}
		p.store.Plan(nil)
		p.sent = nil
		for range 20 {
			p.tick()
			time.Sleep(30 * time.Second)
		}
		if !slices.Contains(p.got(poller.Rejected), 2) || len(p.deadLetters.letters) != 1 ||
			index(p.doc().Checkpoint.Cursor) != 3 {
			t.Errorf("accepted %v, %d dead letters, low edge %s", p.got(poller.Accepted), len(p.deadLetters.letters),
				p.doc().Checkpoint.Cursor)
		}
	})
}

// TestUnstoredRowsFailTheTick: in overlap mode not each batch is worth a write. A tick whose last write fails has
// acknowledged nothing since the one before it, and says so. Another process delivers that again; the same one knows
// that it arrived, and stores it with its next tick.
func TestUnstoredRowsFailTheTick(t *testing.T) {
	for name, again := range map[string][]int{"the same process": nil, "another process": {4, 5, 6}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.describe.Late = late.Overlap
				s.fill(1, 3)
				p := newProcess(t, nil, s, nil)
				p.tick()
				s.fill(4, 6)
				p.store.Plan(func(op storetest.Op) (storetest.Fault, int) {
					if op == storetest.Replace && len(p.got(poller.Accepted)) == 6 {
						return storetest.NotDone, 0
					}
					return storetest.None, 0
				})
				if r := p.tick(); r.Event != poller.CommitFailed || index(r.After) != 3 {
					t.Errorf("%s: %v, at %s", r.Event, r.Err, r.After)
				}
				if doc := p.doc(); index(Frontier(&doc)) != 3 {
					t.Fatalf("stored %s", Frontier(&doc))
				}
				p.store.Plan(nil)
				p.sent = nil
				if again != nil {
					p.store.Crash()
					p = newProcess(t, p.memory, s, nil)
				}
				time.Sleep(2 * time.Minute) // the lease that could not be given back
				r := p.tick()
				doc := p.doc()
				if got := p.got(poller.Accepted); r.Event != poller.TickComplete || !slices.Equal(got, again) ||
					index(Frontier(&doc)) != 6 {
					t.Errorf("%s: %v, accepted %v, stored %s", r.Event, r.Err, got, Frontier(&doc))
				}
			})
		})
	}
}

func TestPolicyIsChecked(t *testing.T) {
	good := poller.Policy{MaxAttempts: 1, Delays: []time.Duration{0}, MaxParked: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for member, spoil := range map[string]func(*poller.Policy){
		"MaxAttempts": func(p *poller.Policy) { p.MaxAttempts = 0 },
		"Delays":      func(p *poller.Policy) { p.Delays = nil },
		"MaxParked":   func(p *poller.Policy) { p.MaxParked = 0 },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), member) {
			t.Errorf("%s: %v", member, err)
		}
	}
}

// TestWindowsWithoutEvents: they move the position in memory, cost no write, and are stored with what comes after them
// or with the release.
func TestWindowsWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.windows = true
		s.fill(1, 2)
		p := newProcess(t, nil, s, nil)
		p.tick()
		p.store.Counts(storetest.Replace)
		for range 3 {
			s.writes++ // of another table
			if r := p.tick(); r.Failed() || p.store.Counts(storetest.Replace) != 0 {
				t.Errorf("%+v", r)
			}
		}
		session := p.open()
		for range 3 {
			s.writes++
			if b := p.next(session); b.To != nil || b.More {
				t.Errorf("%+v", b)
			}
		}
		s.fill(3, 3)
		b := p.next(session)
		if index(b.From) != s.writes-1 {
			t.Errorf("from %s of %d", b.From, s.writes)
		}
		p.settle(session, p.judge(session, b))
		s.writes++
		p.next(session)
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Fatal(err)
		}
		if got := index(p.doc().Checkpoint.Cursor); got != s.writes || p.doc().Lease.OwnerID != "" {
			t.Errorf("stored %d of %d", got, s.writes)
		}
	})
}
