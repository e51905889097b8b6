package checkpointed

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// backfill asks for one.
func (p *process) backfill(b state.Backfill) {
	p.t.Helper()
	b.StartedAt, b.By = time.Now(), "ann@laptop"
	p.amend(func(d *state.Document) { d.Backfill = &b })
}

// TestBackfill: the range is sent again between live rows, with its progress in the document, and ends with a word.
func TestBackfill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 20)
		p := newProcess(t, nil, s, nil)
		p.tick()
		p.sent = nil
		p.backfill(state.Backfill{ID: "b1", From: position(5), To: position(12), Total: 7})
		s.fill(21, 24)
		p.limit = 3
		r := p.tick()
		var kinds []change.Kind
		for _, sent := range p.sent {
			if n := len(kinds); n == 0 || kinds[n-1] != sent.kind {
				kinds = append(kinds, sent.kind)
			}
		}
		if want := []change.Kind{change.Backfill, change.Live, change.Backfill, change.Live,
			change.Backfill}; !slices.Equal(kinds, want) {
			t.Errorf("kinds: %v", kinds)
		}
		rows := p.got(poller.Accepted)
		slices.Sort(rows)
		if !slices.Equal(rows, []int{6, 7, 8, 9, 10, 11, 12, 21, 22, 23, 24}) || r.Rows != 11 {
			t.Errorf("accepted %v", rows)
		}
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "backfill b1 is complete: 7 rows") {
			t.Errorf("%q", r.Warnings)
		}
		if d := p.doc(); d.Backfill != nil || index(d.Checkpoint.Cursor) != 24 {
			t.Errorf("%+v, position %s", d.Backfill, d.Checkpoint.Cursor)
		}
	})
}

// TestBackfillBesideParkedRows: a row that waits for a parked one of its order key, and comes again by a backfill,
// keeps its place: none that was fetched after it is accepted before it.
func TestBackfillBesideParkedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t, nil, newRows("t", "t", "t", "t", "t", "t"), nil)
		p.verdict = poison(1)
		p.tick()
		p.backfill(state.Backfill{ID: "b1", To: position(3), Total: 3})
		p.tick()
		if d := p.doc(); d.Backfill != nil || d.Parked.Count != 6 {
			t.Fatalf("%+v, %d are parked", d.Backfill, d.Parked.Count)
		}
		p.verdict = poison()
		for range 10 {
			time.Sleep(2 * time.Second)
			p.tick()
		}
		if got := p.got(poller.Accepted); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
			t.Errorf("accepted %v", got)
		}
	})
}

// TestBackfillIsThrottled: so many rows a second, across ticks, while live rows arrive at once.
func TestBackfillIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 100)
		p := newProcess(t, nil, s, nil)
		p.tick()
		p.sent = nil
		p.backfill(state.Backfill{ID: "b1", To: position(100), PerSecond: 10, Total: 100})
		begun := time.Now()
		arrived := time.Time{}
		p.verdict = func(e *change.Event, kind change.Kind) poller.Outcome {
			if kind == change.Live {
				arrived = time.Now()
			}
			return poller.Accepted
		}
		time.AfterFunc(3100*time.Millisecond, func() { s.fill(101, 101) })
		p.tick()
		if took := time.Since(begun); took < 8*time.Second || took > 11*time.Second {
			t.Errorf("100 rows at 10 a second took %s", took)
		}
		if late := arrived.Sub(begun.Add(3100 * time.Millisecond)); arrived.IsZero() || late > 500*time.Millisecond {
			t.Errorf("the live row arrived %s after it was written", late)
		}
	})
}

// TestBackfillGoesOnWhereItStopped: after a crash no chunk is left out, and what was settled of it is not sent again.
func TestBackfillGoesOnWhereItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 10)
		store := memstore.New()
		one := newProcess(t, store, s, nil)
		one.tick()
		one.sent = nil
		one.backfill(state.Backfill{ID: "b1", To: position(10)})
		one.limit = 4
		session := one.open()
		chunk := one.judge(session, one.next(session))
		for one.next(session).Kind != change.Backfill {
		}
		one.settle(session, chunk) // the second chunk is handed out, and not settled
		one.store.Crash()
		if b := one.doc().Backfill; b == nil || index(b.At) != 4 || b.Done != 4 {
			t.Fatalf("%+v", b)
		}
		time.Sleep(2 * time.Minute)
		two := newProcess(t, store, s, nil)
		two.tick()
		if got := two.got(poller.Accepted); !slices.Equal(got, []int{5, 6, 7, 8, 9, 10}) || two.doc().Backfill != nil {
			t.Errorf("%v, %+v", got, two.doc().Backfill)
		}
	})
}

// TestBackfillThatIsCancelled: what is handed out is settled, nothing more comes, and the operator's word stays.
func TestBackfillThatIsCancelled(t *testing.T) {
	for name, next := range map[string]*state.Backfill{"cancelled": nil,
		"another": {ID: "b2", From: position(8), To: position(10)}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.fill(1, 10)
				p := newProcess(t, nil, s, nil)
				p.tick()
				p.sent = nil
				p.backfill(state.Backfill{ID: "b1", To: position(6)})
				p.limit = 2
				session := p.open()
				chunk := p.judge(session, p.next(session))
				newProcess(t, p.memory, s, nil).amend(func(d *state.Document) { d.Backfill = next })
				p.settle(session, chunk)
				if err := session.Close(t.Context(), &poller.Report{}); err != nil {
					t.Fatal(err)
				}
				want := []int{1, 2, 9, 10}
				if next == nil {
					want = want[:2]
				}
				if p.tick(); !slices.Equal(p.got(poller.Accepted), want) || p.doc().Backfill != nil {
					t.Errorf("%v, %+v", p.got(poller.Accepted), p.doc().Backfill)
				}
			})
		})
	}
}

// TestEmptyBackfillEnds: a range without rows, and one whose chunk falls short, end as they must.
func TestEmptyBackfillEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 10)
		p := newProcess(t, nil, s, nil)
		p.tick()
		p.backfill(state.Backfill{ID: "b1", From: position(10), To: position(20)})
		if r := p.tick(); r.Failed() || p.doc().Backfill != nil || p.doc().Lease.OwnerID != "" {
			t.Errorf("%+v, %+v", r, p.doc().Backfill)
		}
		p.backfill(state.Backfill{ID: "b2", To: position(10)})
		p.verdict = func(e *change.Event, kind change.Kind) poller.Outcome {
			if kind == change.Backfill && idOf(e) == 8 {
				return poller.Deferred
			}
			return poller.Accepted
		}
		if r := p.tick(); r.Event != poller.HandlerFailed {
			t.Errorf("%+v", r)
		}
		if b := p.doc().Backfill; b == nil || index(b.At) != 7 || b.Done != 7 {
			t.Errorf("%+v", b)
		}
	})
}

// TestBackfilledRowOfAParkedKeyWaits: it is absorbed as any other.
func TestBackfilledRowOfAParkedKeyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := refusing(t, nil, 3, 2)
		p.tick()
		p.sent = nil
		p.backfill(state.Backfill{ID: "b1", To: position(3)})
		if p.tick(); !slices.Equal(p.got(poller.Accepted), []int{1, 3}) || len(p.got(poller.Rejected)) != 0 ||
			p.doc().Backfill != nil || len(p.parked()) != 1 {
			t.Errorf("accepted %v, rejected %v", p.got(poller.Accepted), p.got(poller.Rejected))
		}
	})
}

// TestBackfillMeetsTheWaitedEvent: under ordering=source the poller waits at an event; a backfill that comes to it
// knows of its attempts, so that it is tried at its times and given up after the last one.
func TestBackfillMeetsTheWaitedEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 3)
		p := newProcess(t, nil, s, func(c *Config) { c.Ordering = poller.OrderSource })
		to := newDestination(func(row int) int {
			if row == 1 {
				return 400
			}
			return 200
		})
		relay := pollertest.Relay(t, p.feed, to, pollertest.Hundred, func(c *poller.Config) {
			c.Ordering = poller.OrderSource
		})
		relay.Tick(t.Context())
		p.backfill(state.Backfill{ID: "b1", To: position(3), Total: 3})
		for range 300 {
			time.Sleep(time.Second)
			relay.Tick(t.Context())
		}
		if n := len(p.deadLetters.letters); n == 0 || p.deadLetters.letters[0].Attempts != 5 || len(to.times[1]) > 10 {
			t.Errorf("%d dead letters, sent at %v, parked %+v", n, to.times[1], p.parked())
		}
	})
}
