package rabbitmq_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/poller"
)

func TestTheConnectionIsLostBetweenDeliveries(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{})
	d := rows(0, 3)
	deliver(t, o, d)

	p.refuse(true) // the broker restarts
	p.drop()
	var err error
	programtest.Until(t, "deliveries fail", func() bool { err = o.Deliver(t.Context(), d); return err != nil })
	failed(t, err, poller.Unavailable, indices(0, 3), p.Addr().String())
	p.refuse(false)
	b.ids(t)
	deliver(t, o, d) // at once
	if diff := cmp.Diff(ids(&d), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The connection is cut after some bytes of a delivery: what was confirmed is accepted, the rest unavailable, and every
// event that is called accepted is on the queue.
func TestTheConnectionIsLostInTheMiddle(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{})
	for _, after := range []int{1, 5_000, 100_000, 300_000} {
		deliver(t, o, rows(5000, 1)) // there is a connection
		b.ids(t)
		p.dropAfter(0, after)
		d := rows(0, 1000)
		err := o.Deliver(t.Context(), d)
		var failure *poller.DeliveryError
		if !errors.As(err, &failure) || len(failure.Failed) == 0 {
			t.Fatalf("cut after %d bytes: %v", after, err)
		}
		arrived := b.ids(t)
		for i := range d.Events {
			lost := slices.ContainsFunc(failure.Failed, func(f poller.FailedEvent) bool { return f.Index == i })
			if !lost && !slices.Contains(arrived, d.Events[i].ID) {
				t.Errorf("cut after %d bytes: event %d was called accepted, and is not there", after, i)
			}
		}
		for _, f := range failure.Failed {
			if f.Cause != poller.Unavailable {
				t.Errorf("event %d is %s", f.Index, f.Cause)
			}
		}
	}
	deliver(t, o, rows(0, 10))
}

// The connection is cut after some of the confirms: those events are accepted, and not sent again.
func TestWhatWasConfirmedStaysAccepted(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{})
	accepted := 0
	programtest.Until(t, "a connection is cut between two confirms", func() bool { // the broker may confirm all at once
		deliver(t, o, rows(5000, 1))
		b.ids(t)
		p.dropAfter(21+10, 0) // one basic.ack is 21 bytes
		err := o.Deliver(t.Context(), rows(0, 1000))
		p.dropAfter(0, 0)
		var failure *poller.DeliveryError
		if errors.As(err, &failure) {
			accepted = 1000 - len(failure.Failed)
		}
		return accepted > 0
	})
	if got := b.ids(t); len(got) < accepted {
		t.Errorf("%d were called accepted, and %d are there", accepted, len(got))
	}
}

// Many deliveries while the connection is cut again and again: nothing is called accepted that is not there.
func TestTheConnectionIsLostAgainAndAgain(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	accepted := map[string]bool{}
	var progress atomic.Bool // cut at once, no connection would accept anything where connecting takes long
	for k := range 8 {
		wg.Go(func() {
			for i := 0; i < 30 || p.dialled() < 3; i++ {
				d := rows(100_000*k+100*i, 20)
				var failure *poller.DeliveryError
				errors.As(o.Deliver(t.Context(), d), &failure)
				mu.Lock()
				for j := range d.Events {
					if failure == nil || !slices.ContainsFunc(failure.Failed, func(f poller.FailedEvent) bool {
						return f.Index == j
					}) {
						accepted[d.Events[j].ID] = true
					}
				}
				mu.Unlock()
				if failure == nil {
					progress.Store(true)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
			if progress.Swap(false) {
				p.drop()
			}
		case <-ended:
			running = false
		}
	}
	there := map[string]bool{}
	for _, id := range b.ids(t) {
		there[id] = true
	}
	for id := range accepted {
		if !there[id] {
			t.Errorf("event %s was called accepted, and is not there", id)
		}
	}
	if len(accepted) == 0 {
		t.Error("nothing was accepted: that proves little")
	}
}
