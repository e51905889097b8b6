package poller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

// receiver is a destination with bad events, moods and outages, that keeps a protocol.
type receiver struct {
	*sink
	dice     sync.Mutex
	rnd      *rand.Rand
	bad      map[string]int // id → status; 0 names it, -1 is impossible
	mood     int            // of 100 requests, how many fail by chance
	down     bool
	protocol []protocolled
}

// protocolled is the answer about one event.
type protocolled struct {
	id, key          string
	accepted, single bool // single: failed alone, or was named
}

func (r *receiver) roll(n int) int {
	r.dice.Lock()
	defer r.dice.Unlock()
	return r.rnd.IntN(n)
}

func (r *receiver) answer(ctx context.Context, d change.Delivery) error {
	if err := clock.Sleep(ctx, time.Duration(r.roll(300))*time.Millisecond); err != nil {
		return err
	}
	err := r.judge(d)
	var failure *DeliveryError
	failed := map[int]FailedEvent{}
	if errors.As(err, &failure) {
		for _, f := range failure.Failed {
			failed[f.Index] = f
		}
	}
	r.dice.Lock()
	defer r.dice.Unlock()
	for i, e := range d.Events {
		f, bad := failed[i]
		r.protocol = append(r.protocol, protocolled{e.ID, string(e.OrderKey), err == nil || failure != nil && !bad,
			f.Named || len(d.Events) == 1})
	}
	return err
}

func (r *receiver) judge(d change.Delivery) error {
	if r.down || r.roll(100) < r.mood {
		switch r.roll(4) {
		case 0:
			return errors.New("connection reset")
		case 1:
			return status(d, 503)
		case 2:
			return &DeliveryError{Failed: []FailedEvent{{Index: r.roll(len(d.Events)), Status: 500}},
				Err: errors.New("one of them")}
		default:
			if r.down {
				return status(d, 422)
			}
			return named(r.roll(len(d.Events)))
		}
	}
	var failed []FailedEvent
	for i, e := range d.Events {
		code, bad := r.bad[e.ID]
		switch {
		case bad && code > 0:
			return status(d, code)
		case bad && code == 0:
			failed = append(failed, FailedEvent{Index: i, Cause: Refused, Status: 200, Named: true})
		case bad:
			failed = append(failed, FailedEvent{Index: i, Cause: Impossible, Named: true})
		}
	}
	if len(failed) > 0 {
		return &DeliveryError{Failed: failed, Err: errors.New("some")}
	}
	return nil
}

// TestRandomFailures ticks while requests fail in every way and an outage comes and goes, until all is calm and done. A
// tick that hangs, or that ends with work undone, is found by synctest or by the tick itself. Then: every event was
// accepted, given up, or superseded; what was given up is bad; the order of each key was kept; and nothing was held
// against an event without evidence.
func TestRandomFailures(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomFailures(t, seed) })
		}) {
			return
		}
	}
}

func randomFailures(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	n := 1 + rnd.IntN(120)
	feed := newParkingTable(keys(n, 1+rnd.IntN(40)))
	feed.others, feed.maxAttempts, feed.broken = rnd.IntN(2) == 0, 15, map[int]bool{}
	if rnd.IntN(4) == 0 {
		feed.maxParked = 1 + rnd.IntN(3)
	}
	feed.ordering = []Ordering{OrderKey, OrderKey, OrderKey, OrderSource, OrderNone}[rnd.IntN(5)]
	to := &receiver{sink: newSink(t, nil), rnd: rnd, bad: map[string]int{}, mood: rnd.IntN(30)}
	to.sink.answer, to.ordering = to.answer, feed.ordering
	if rnd.IntN(3) > 0 {
		for range rnd.IntN(8) {
			to.bad[fmt.Sprint(rnd.IntN(n))] = []int{500, 422, 404, 0, -1}[rnd.IntN(5)]
		}
		feed.broken[rnd.IntN(n)] = true
	}
	if feed.ordering == OrderSource {
		// Nothing may be sent before a bad event, so that one has to end while an acceptance before it is fresh.
		feed.maxAttempts, feed.delay = 10, 100*time.Millisecond
		delete(to.bad, "0")
		delete(feed.broken, 0)
	}
	relay := relayOf(t, feed, to, func(c *Config) {
		c.Ordering, c.RejectStatus = feed.ordering, rejectStatus
		c.Retries, c.Concurrency, c.MaxBatches = 1+rnd.IntN(3), 1+rnd.IntN(4), rnd.IntN(4)
		c.RequestEvents, c.Fetch.Rows = 1+rnd.IntN(30), 1+rnd.IntN(40)
		c.Timeout, c.Budget = 5*time.Second, time.Duration(1+rnd.IntN(20))*time.Second
	})
	var last Report
	calm := 3 + rnd.IntN(10)
	for ticks := 0; feed.position < n || len(feed.parked) > 0; ticks++ {
		if ticks == calm {
			to.mood = 0
			feed.others = true
			feed.rows = append(feed.rows, "always another", "and another")
			n += 2
		}
		if ticks > 400 {
			t.Errorf("no progress beyond %d of %d, parked %v, bad %v: %+v", feed.position, n, feed.parked, to.bad, last)
			return
		}
		if ticks > calm { // what was set aside without evidence is decided about
			feed.rows = append(feed.rows, fmt.Sprint("new", ticks))
			if len(feed.parked) > 0 {
				n++
			}
		}
		to.down = ticks < calm && rnd.IntN(4) == 0
		before, rejected := feed.position, len(feed.dead)
		feed.otherErr = nil
		if ticks < calm {
			switch rnd.IntN(8) {
			case 0:
				feed.otherErr = &Fault{FetchFailed, errors.New("no route to the database")}
			case 1:
				steal := time.AfterFunc(time.Duration(rnd.IntN(2000))*time.Millisecond, func() { feed.end(errors.New("stolen")) })
				defer steal.Stop()
			}
		}
		report := relay.Tick(t.Context())
		last = report
		if report.Event != TickComplete && report.Event != HandlerFailed && report.Event != FetchEmpty &&
			(report.Event != LostLease || ticks >= calm+2) {
			t.Errorf("%+v", report)
			return
		}
		if to.down && len(feed.dead) > rejected+3 {
			t.Errorf("position from %d to %d: %+v", before, feed.position, report)
		}
		time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
	}
	if checkOutcomes(t, feed, to); t.Failed() {
		t.Logf("ordering %s, bad %v, broken %v, arrived %v", feed.ordering, to.bad, feed.broken, to.order)
	}
}

func checkOutcomes(t *testing.T, feed *parkingTable, to *receiver) {
	t.Helper()
	given := map[string]int{} // the newest event of a key that was accepted or given up
	for i := range feed.position {
		if id := fmt.Sprint(i); to.accepted[id] > 0 || slices.Contains(feed.dead, id) {
			given[feed.rows[i]] = i
		}
	}
	for i := range feed.position {
		id := fmt.Sprint(i)
		last, any := given[feed.rows[i]]
		switch got := feed.outcomes[id]; {
		case to.accepted[id] > 0, slices.Contains(feed.dead, id):
		case feed.newest[feed.rows[i]] > i && any && last > i: // was never seen again
		case !any || last < i || !slices.Contains(got, Absorbed) && !slices.Contains(got, Rejected):
			t.Errorf("event %s of %s is lost: %v", id, feed.rows[i], got)
		}
	}
	for _, id := range feed.dead {
		if _, bad := to.bad[id]; !bad && !feed.broken[atoi(t, id)] {
			t.Errorf("event %s was given up, and is good", id)
		}
	}
	if feed.ordering != OrderNone {
		assertOrderPerKey(t, feed.rows, to.order)
	}
	checkEvidence(t, feed, to)
}

// checkEvidence fails when an attempt was held against an event that never failed on its own, or against many while
// nothing was ever accepted.
func checkEvidence(t *testing.T, feed *parkingTable, to *receiver) {
	t.Helper()
	accepted := slices.ContainsFunc(to.protocol, func(p protocolled) bool { return p.accepted })
	if !accepted && len(feed.reasons) > maxProbes+len(feed.broken) {
		t.Errorf("%d events were rejected, and none was ever accepted", len(feed.reasons))
	}
	for id := range feed.reasons {
		alone := func(p protocolled) bool { return p.id == id && !p.accepted && p.single }
		if !feed.broken[atoi(t, id)] && !slices.ContainsFunc(to.protocol, alone) {
			t.Errorf("event %s was rejected, and never failed alone", id)
		}
	}
}

func atoi(t *testing.T, id string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(id, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
