package output

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// Result is what became of one event that was sent by itself; its zero value: accepted.
type Result struct {
	Cause poller.Cause
	// Named says that the answer is about this very event. Status is the destination's, 0 for none.
	Named  bool
	Status int
	// RetryAfter is how long the destination asked to be left alone.
	RetryAfter time.Duration
	Err        error
}

// ErrNotTried is what became of an event whose destination turned out to be down for an earlier one.
var ErrNotTried = errors.New("not tried, because the destination was down for an earlier one")

// ErrBehind is what became of an event that comes after one of its order key which failed.
var ErrBehind = errors.New("not sent, because an earlier event of its order key failed")

// Each sends n events, each by itself and at most so many at the same time, and returns Deliver's error. try makes one
// attempt on event i, for which it is called once, and must not panic. doing begins each error's text, as in "sending
// to queue orders".
func Each(n, atOnce int, doing string, try func(i int) Result) error {
	results := make([]Result, n)
	Beside(n, atOnce, func(i int) { results[i] = try(i) })
	return Sum(results, doing)
}

// Beside calls do for each number below n, at most so many at the same time, and returns when all are done.
func Beside(n, atOnce int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var workers sync.WaitGroup
	for range min(atOnce, n) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
}

// Sum turns the results into Deliver's error, as Each does.
func Sum(results []Result, doing string) error {
	var failure poller.DeliveryError
	var first error
	for i := range results {
		r := &results[i]
		if r.Err == nil {
			continue
		}
		failed := poller.FailedEvent{Index: i, Cause: r.Cause, Status: r.Status, Named: r.Named}
		if failed.Named {
			failed.Err = Errorf(r.Err, "%s: %v", doing, r.Err)
		}
		failure.Failed = append(failure.Failed, failed)
		failure.RetryAfter = max(failure.RetryAfter, r.RetryAfter)
		if first == nil || errors.Is(first, ErrNotTried) {
			first = r.Err
		}
	}
	if first == nil {
		return nil
	}
	failure.Err = Errorf(first, "%s: %d of %d events failed: %v", doing, len(failure.Failed), len(results), first)
	return &failure
}
