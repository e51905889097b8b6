package outputtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// Places checks, within a bubble of synctest, that the concurrency of an output is all its deliveries' together, and
// that one which waits for a place notices the end of its context. open returns an output with a concurrency of 4 that
// calls send for each message.
func Places(t *testing.T, open func(send func()) poller.Output) {
	t.Helper()
	var underWay, sent atomic.Int32
	o := open(func() {
		if n := underWay.Add(1); n > 4 {
			t.Errorf("%d messages are under way at once", n)
		}
		sent.Add(1)
		time.Sleep(time.Second)
		underWay.Add(-1)
	})
	var deliveries sync.WaitGroup
	for i := range 4 {
		deliveries.Go(func() {
			if err := o.Deliver(t.Context(), Delivery(100*i, 10)); err != nil {
				t.Error(err)
			}
		})
	}
	synctest.Wait()
	if n := underWay.Load(); n != 4 {
		t.Errorf("%d messages are under way, want every place taken", n)
	}
	over := errors.New("the right to deliver ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := make(chan error, 1)
	go func() { waiting <- o.Deliver(ctx, Delivery(1000, 3)) }()
	synctest.Wait()
	cancel(over)
	var failure *poller.DeliveryError
	if err := <-waiting; !errors.Is(err, over) || !errors.As(err, &failure) || len(failure.Failed) != 3 {
		t.Errorf("%v", err)
	}
	deliveries.Wait()
	if n := sent.Load(); n != 40 {
		t.Errorf("%d messages were sent, want 40", n)
	}
}

// Panics checks that a panic of what an output calls, which says "planned", is told like any other fault of the way to
// its destination, in one line with the words, and that the places of the events are given back.
func Panics(t *testing.T, o poller.Output, words ...string) {
	t.Helper()
	for range 2 {
		err := o.Deliver(t.Context(), Delivery(0, 20))
		check(t, err, poller.Unavailable, all(20)...)
		for _, part := range append(words, "panic: planned") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
}
