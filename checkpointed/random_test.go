package checkpointed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// randomRun is a random run of a poller: rows are written and deleted while instances tick over one store, reject
// events, fail, and die at any write.
type randomRun struct {
	*testing.T
	rnd         *rand.Rand
	shop        *shop
	store       state.Store
	deadLetters *deadLetters
	ordering    poller.Ordering
	policy      poller.Policy
	calm        bool

	accepted map[string]bool // event ids
	newest   map[string]int  // by order key and row: the highest cursor that was accepted
	mixed    bool            // ordering differs from instance to instance: then there is no order to be kept
}

// process returns an instance of this poller.
func (l *randomRun) process() *process {
	p := newProcess(l.T, l.store, l.shop, func(c *Config) {
		c.Ordering, c.Policy, c.DeadLetters = l.ordering, l.policy, l.deadLetters
	})
	p.limit = 1 + l.rnd.IntN(6)
	p.verdict = func(e *change.Event, _ change.Kind) poller.Outcome {
		switch text := textOf(e); {
		case text == "bad", text == "shaky" && l.rnd.IntN(3) > 0 && !l.calm:
			return poller.Rejected
		case !l.calm && l.rnd.IntN(30) == 0:
			return poller.Deferred
		}
		l.accept(e)
		return poller.Accepted
	}
	return p
}

// accept checks the order of a row's versions: none is first accepted after a later one.
func (l *randomRun) accept(e *change.Event) {
	row, at := fmt.Sprintf("%s %d", e.OrderKey, idOf(e)), index(e.Cursor)
	if !l.accepted[e.ID] && at < l.newest[row] && l.ordering != poller.OrderNone && !l.mixed {
		l.Errorf("row %s: version %d is first accepted after %d", row, at, l.newest[row])
	}
	l.accepted[e.ID] = true
	l.newest[row] = max(l.newest[row], at)
}

// write changes a random row, its order key too.
func (l *randomRun) write() {
	id := 1 + l.rnd.IntN(12)
	if l.rnd.IntN(12) == 0 {
		l.shop.remove(id)
		return
	}
	l.shop.put(id, fmt.Sprint("t", l.rnd.IntN(3)), []string{"good", "good", "good", "shaky", "bad"}[l.rnd.IntN(5)])
}

// tick runs one tick that fetches ahead of what it sends, and sends ahead of what it settles.
func (l *randomRun) tick(p *process) {
	opened, err := p.feed.Open(l.Context())
	if err != nil {
		return
	}
	s := opened.(*session)
	defer func() { _ = s.Close(l.Context(), &poller.Report{}) }()
	var fetched []change.Batch
	var judged []poller.Settled
	rejected := map[string]int{} // not settled yet
	for steps := 0; steps < 60; steps++ {
		switch l.rnd.IntN(4) {
		case 0:
			l.write()
		case 1:
			if len(fetched)+len(judged) > 3 {
				continue
			}
			grant, err := s.Next(l.Context(), poller.Limit{Rows: p.limit, Bytes: 1 << 20})
			if err != nil {
				steps = 60 // what was handed out is settled below, or not
			} else if len(grant.Batch.Events) > 0 || grant.Batch.To != nil {
				fetched = append(fetched, grant.Batch)
			}
		case 2:
			if len(fetched) == 0 {
				continue
			}
			judged = append(judged, l.judge(p, s, fetched[0], rejected))
			fetched = fetched[1:]
		default:
			if len(judged) == 0 {
				continue
			}
			n := 1 + l.rnd.IntN(len(judged))
			for i := range judged[:n] {
				if slices.Contains(judged[i].Outcomes, poller.Deferred) {
					n = i + 1
				}
			}
			last := slices.Contains(judged[n-1].Outcomes, poller.Deferred) || l.rnd.IntN(10) == 0
			if _, err := s.Settle(l.Context(), poller.Settlement{Batches: judged[:n], Last: last}); err != nil || last {
				return
			}
			for _, b := range judged[:n] {
				for i := range b.Rejections {
					rejected[string(b.Batch.Events[i].OrderKey)]--
				}
			}
			judged = judged[n:]
			time.Sleep(time.Duration(l.rnd.IntN(800)) * time.Millisecond)
		}
	}
}

// judge is what the tick does with a batch: see process.judge, for several batches on their way.
func (l *randomRun) judge(p *process, s *session, b change.Batch, rejected map[string]int) poller.Settled {
	settled := poller.Settled{Batch: b, Outcomes: make([]poller.Outcome, len(b.Events)),
		Rejections: map[int]poller.Rejection{}}
	for i := range b.Events {
		e := &b.Events[i]
		key := string(e.OrderKey)
		outcome := poller.Absorbed
		waits := l.ordering == poller.OrderKey && (s.Parked(e.OrderKey) || rejected[key] > 0)
		if b.Kind == change.Retry || !waits {
			outcome = p.verdict(e, b.Kind)
		}
		settled.Outcomes[i] = outcome
		if outcome == poller.Rejected {
			rejected[key]++
			settled.Rejections[i] = poller.Rejection{Cause: poller.Refused, Reason: "bad", At: time.Now()}
		}
		if outcome == poller.Deferred || outcome == poller.Rejected && l.ordering == poller.OrderSource {
			break
		}
	}
	return settled
}

// check checks the end: the last state of each row was accepted, or is a dead letter.
func (l *randomRun) check() {
	written := map[string]bool{}
	for _, d := range l.deadLetters.letters {
		written[d.Event.ID] = true
	}
	for _, row := range l.shop.sorted() {
		if e := l.shop.event(row); !l.accepted[e.ID] && !written[e.ID] {
			l.Errorf("row %d, version %d (%s) is lost", row.id, row.cursor, row.text)
		}
	}
}

// TestRandomLivesLoseNothing: whatever happens, the last state of each row arrives or is a dead letter, in order, and
// nothing stays parked or in the store for ever.
func TestRandomLivesLoseNothing(t *testing.T) {
	for seed := range quick.Runs[uint64](150, 8) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			l := &randomRun{
				T: t, rnd: rnd, shop: newShop(), store: memstore.New(), deadLetters: &deadLetters{},
				accepted: map[string]bool{}, newest: map[string]int{},
				ordering: []poller.Ordering{poller.OrderKey, poller.OrderKey, poller.OrderKey, poller.OrderNone,
					poller.OrderSource}[rnd.IntN(5)],
				policy: poller.Policy{MaxAttempts: 1 + rnd.IntN(4), Delays: []time.Duration{time.Second, 3 * time.Second},
					MaxParked: []int{2, 5, 1000}[rnd.IntN(3)]},
			}
			l.shop.describe.Coarse = rnd.IntN(2) == 0
			l.shop.describe.Late = []late.Mode{late.None, late.Overlap}[rnd.IntN(2)]
			l.deadLetters.put = func(poller.DeadLetter) error {
				if !l.calm && rnd.IntN(5) == 0 {
					return errors.New("away")
				}
				return nil
			}
			l.mixed = rnd.IntN(4) == 0
			for range 6 {
				if l.mixed {
					l.ordering = []poller.Ordering{poller.OrderKey, poller.OrderKey, poller.OrderNone, poller.OrderSource}[rnd.IntN(4)]
				}
				p := l.process()
				p.store.Plan(func(storetest.Op) (storetest.Fault, int) {
					if rnd.IntN(15) == 0 {
						return storetest.Fault(1 + rnd.IntN(3)), rnd.IntN(4)
					}
					return storetest.None, 0
				})
				for range 1 + rnd.IntN(6) {
					l.tick(p)
					if rnd.IntN(6) == 0 {
						p.amendIfCan(rnd, index(position(l.shop.writes)))
					}
					time.Sleep(time.Duration(rnd.IntN(4000)) * time.Millisecond)
				}
				p.store.Crash()
				time.Sleep(time.Duration(rnd.IntN(90)) * time.Second)
			}
			l.calm = true
			p := l.process()
			p.limit = 50
			for range 60 {
				p.tick()
				time.Sleep(10 * time.Second)
			}
			l.check()
			if len(p.parked()) != 0 || p.doc().Backfill != nil || index(p.doc().Checkpoint.Cursor) < last(l.shop) {
				t.Errorf("left over: parked %+v, backfill %+v, position %s of %d", p.parked(), p.doc().Backfill,
					p.doc().Checkpoint.Cursor, last(l.shop))
			}
			if t.Failed() {
				t.Fatalf("seed %d: ordering %s, mixed %v, %+v, coarse %v, late %s", seed, l.ordering, l.mixed,
					l.policy, l.shop.describe.Coarse, l.shop.describe.Late)
			}
		})
	}
}

// last is the cursor of the newest row.
func last(s *shop) int {
	rows := s.sorted()
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].cursor
}

// amendIfCan lets an operator ask for a backfill; the store may refuse.
func (p *process) amendIfCan(rnd *rand.Rand, end int) {
	_, _ = p.keeper.Amend(p.t.Context(), func(d *state.Document) error {
		d.Backfill = &state.Backfill{ID: fmt.Sprint("b", rnd.Uint32()), To: position(max(end, 1)), PerSecond: rnd.IntN(3) * 5,
			StartedAt: time.Now(), By: "ann"}
		return nil
	})
}
