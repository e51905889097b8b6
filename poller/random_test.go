package poller_test

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
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// receiver is a destination with bad events, moods and outages, that keeps a protocol.
type receiver struct {
	*pollertest.Sink
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
	err := pollertest.InOrder(d, r.judge(d))
	var failure *poller.DeliveryError
	failed := map[int]poller.FailedEvent{}
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
			return pollertest.Status(d, 503)
		case 2:
			return &poller.DeliveryError{Failed: []poller.FailedEvent{{Index: r.roll(len(d.Events)), Status: 500}},
				Err: errors.New("one of them")}
		default:
			if r.down {
				return pollertest.Status(d, 422)
			}
			return pollertest.Named(r.roll(len(d.Events)))
		}
	}
	var failed []poller.FailedEvent
	for i, e := range d.Events {
		code, bad := r.bad[e.ID]
		switch {
		case bad && code > 0:
			return pollertest.Status(d, code)
		case bad && code == 0:
			failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: 200, Named: true})
		case bad:
			failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Impossible, Named: true})
		}
	}
	if len(failed) > 0 {
		return &poller.DeliveryError{Failed: failed, Err: errors.New("some")}
	}
	return nil
}

// TestRandomFailures ticks while requests fail in every way and an outage comes and goes, until all is calm and done. A
// tick that hangs, or that ends with work undone, is found by synctest or by the tick itself. Then: every event was
// accepted, given up, or superseded; what was given up is bad; the order of each key was kept; and nothing was held
// against an event without evidence.
func TestRandomFailures(t *testing.T) {
	for seed := range quick.Runs[uint64](250, 40) {
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
	feed := pollertest.NewTable(n, 1+rnd.IntN(40))
	feed.NoOther, feed.MaxAttempts = rnd.IntN(2) != 0, 15
	if rnd.IntN(4) == 0 {
		feed.MaxParked = 1 + rnd.IntN(3)
	}
	feed.Ordering = []poller.Ordering{poller.OrderKey, poller.OrderKey, poller.OrderKey, poller.OrderSource,
		poller.OrderNone}[rnd.IntN(5)]
	to := &receiver{Sink: pollertest.NewSink(t, nil), rnd: rnd, bad: map[string]int{}, mood: rnd.IntN(30)}
	to.Answer, to.Ordering = to.answer, feed.Ordering
	if rnd.IntN(3) > 0 {
		for range rnd.IntN(8) {
			to.bad[fmt.Sprint(rnd.IntN(n))] = []int{500, 422, 404, 0, -1}[rnd.IntN(5)]
		}
		feed.Broken[rnd.IntN(n)] = true
	}
	if feed.Ordering == poller.OrderSource {
		// Nothing may be sent before a bad event, so that one has to end while an acceptance before it is fresh.
		feed.MaxAttempts, feed.Delay = 10, 100*time.Millisecond
		delete(to.bad, "0")
		delete(feed.Broken, 0)
	}
	if feed.Ordering == poller.OrderKey {
		to.KeyEvents = rnd.IntN(6)
	}
	relay := pollertest.Relay(t, feed, to, func(c *poller.Config) {
		c.KeyEvents = to.KeyEvents
		c.Ordering, c.RejectStatus = feed.Ordering, []int{400, 413, 422}
		c.Retries, c.Concurrency, c.MaxBatches = 1+rnd.IntN(3), 1+rnd.IntN(4), rnd.IntN(4)
		c.RequestEvents, c.Fetch.Rows = 1+rnd.IntN(30), 1+rnd.IntN(40)
		c.Timeout, c.Budget = 5*time.Second, time.Duration(1+rnd.IntN(20))*time.Second
	})
	var last poller.Report
	calm := 3 + rnd.IntN(10)
	for ticks := 0; feed.Position < n || len(feed.Parked) > 0; ticks++ {
		if ticks == calm {
			to.mood = 0
			feed.NoOther = false
			feed.Rows = append(feed.Rows, "always another", "and another")
			n += 2
		}
		if ticks > 400 {
			t.Errorf("no progress beyond %d of %d, parked %v, bad %v: %+v", feed.Position, n, feed.Parked, to.bad, last)
			return
		}
		if ticks > calm { // what was set aside without evidence is decided about
			feed.Rows = append(feed.Rows, fmt.Sprint("new", ticks))
			if len(feed.Parked) > 0 {
				n++
			}
		}
		to.down = ticks < calm && rnd.IntN(4) == 0
		before, rejected := feed.Position, len(feed.Dead)
		feed.OtherErr = nil
		if ticks < calm {
			switch rnd.IntN(8) {
			case 0:
				feed.OtherErr = &poller.Fault{Event: poller.FetchFailed, Err: errors.New("no route to the database")}
			case 1:
				steal := time.AfterFunc(time.Duration(rnd.IntN(2000))*time.Millisecond, func() { feed.End(errors.New("stolen")) })
				defer steal.Stop()
			}
		}
		report := relay.Tick(t.Context())
		last = report
		if report.Event != poller.TickComplete && report.Event != poller.HandlerFailed && report.Event != poller.FetchEmpty &&
			(report.Event != poller.LostLease || ticks >= calm+2) {
			t.Errorf("%+v", report)
			return
		}
		if to.down && len(feed.Dead) > rejected+3 {
			t.Errorf("position from %d to %d: %+v", before, feed.Position, report)
		}
		time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
	}
	if checkOutcomes(t, feed, to); t.Failed() {
		t.Logf("ordering %s, bad %v, broken %v, arrived %v", feed.Ordering, to.bad, feed.Broken, to.Order)
	}
}

func checkOutcomes(t *testing.T, feed *pollertest.Table, to *receiver) {
	t.Helper()
	given := map[string]int{} // the newest event of a key that was accepted or given up
	for i := range feed.Position {
		if id := fmt.Sprint(i); to.Accepted[id] > 0 || slices.Contains(feed.Dead, id) {
			given[feed.Rows[i]] = i
		}
	}
	for i := range feed.Position {
		id := fmt.Sprint(i)
		last, any := given[feed.Rows[i]]
		switch got := feed.Outcomes[id]; {
		case to.Accepted[id] > 0, slices.Contains(feed.Dead, id):
		case feed.Newest[feed.Rows[i]] > i && any && last > i: // was never seen again
		case !any || last < i || !slices.Contains(got, poller.Absorbed) && !slices.Contains(got, poller.Rejected):
			t.Errorf("event %s of %s is lost: %v", id, feed.Rows[i], got)
		}
	}
	for _, id := range feed.Dead {
		if _, bad := to.bad[id]; !bad && !feed.Broken[atoi(t, id)] {
			t.Errorf("event %s was given up, and is good", id)
		}
	}
	if feed.Ordering != poller.OrderNone {
		pollertest.CheckOrder(t, feed.Rows, to.Order)
	}
	checkEvidence(t, feed, to)
}

// checkEvidence fails when an attempt was held against an event that never failed on its own, or against many while
// nothing was ever accepted.
func checkEvidence(t *testing.T, feed *pollertest.Table, to *receiver) {
	t.Helper()
	accepted := slices.ContainsFunc(to.protocol, func(p protocolled) bool { return p.accepted })
	if !accepted && len(feed.Reasons) > pollertest.MaxProbes+len(feed.Broken) {
		t.Errorf("%d events were rejected, and none was ever accepted", len(feed.Reasons))
	}
	for id := range feed.Reasons {
		alone := func(p protocolled) bool { return p.id == id && !p.accepted && p.single }
		if !feed.Broken[atoi(t, id)] && !slices.ContainsFunc(to.protocol, alone) {
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
