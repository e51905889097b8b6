package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/poller"
)

// beforeHeartbeats is less than it takes until missing heartbeats tell of a broker that is silent: 15 seconds.
const beforeHeartbeats = 12 * time.Second

// The context of a delivery ends before the broker confirms. What it published stays in front of what is published
// later.
func TestAnUnconfirmedDeliveryIsNotOvertaken(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{})
	var wg sync.WaitGroup
	for i := range 8 { // so that there is more than one channel
		wg.Go(func() {
			if err := o.Deliver(t.Context(), rows(5000+1000*i, 300)); err != nil {
				t.Errorf("Deliver: %v", err)
			}
		})
	}
	wg.Wait()
	b.ids(t)

	arrived := p.hush()
	why := errors.New("the right to deliver ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-arrived; cancel(why) }()
	first, second := rows(0, 50), rows(100, 50)
	err := o.Deliver(ctx, first)
	failed(t, err, poller.Unavailable, indices(0, 50), why.Error())
	general(t, err, false)
	if !errors.Is(err, why) {
		t.Errorf("%v does not wrap the cause", err)
	}
	ended, stop := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer stop()
	failed(t, o.Deliver(ended, second), poller.Unavailable, indices(0, 50)) // the broker has not answered yet
	p.speak()
	deliver(t, o, second)
	if diff := cmp.Diff(append(ids(&first), ids(&second)...), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := p.dialled(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// A broker that reads nothing: what has not left when the context ends never leaves. The connection is reset, and
// others that are in flight over it learn so at once.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{})
	var wg sync.WaitGroup
	for i := range 8 { // so that there is more than one channel
		wg.Go(func() { deliver(t, o, rows(5000+1000*i, 300)) })
	}
	wg.Wait()
	b.ids(t)
	other := make(chan error, 1)
	heard := p.hush()
	go func() { other <- o.Deliver(t.Context(), rows(6000, 2)) }()
	<-heard
	stall := make(chan struct{})
	p.mu.Lock()
	p.stall, p.said = stall, 0
	p.mu.Unlock()
	d := rows(0, 100)
	size := 0
	for i := range d.Events {
		d.Events[i].Row = fmt.Appendf(nil, `"%s"`, strings.Repeat("x", 400<<10))
		size += len(d.Events[i].Row)
	}
	why := errors.New("the right to deliver ended")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, why)
	defer cancel()
	began := time.Now()
	failed(t, o.Deliver(ctx, d), poller.Unavailable, indices(0, 100), why.Error())
	if took := time.Since(began); took > beforeHeartbeats {
		t.Errorf("it took %s", took)
	}
	close(stall) // from now on, what is still written is read
	programtest.Until(t, "the connection ends", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.ended > 0
	})
	failed(t, <-other, poller.Unavailable, []int{0, 1})
	if took := time.Since(began); took > beforeHeartbeats {
		t.Errorf("the other took %s", took)
	}
	p.speak()
	p.mu.Lock()
	said := p.said
	p.stall = nil
	p.mu.Unlock()
	if said > size/2 { // what the kernel had: some MB
		t.Errorf("%d bytes left of a delivery of %d whose context had ended", said, size)
	}
	deliver(t, o, rows(0, 3))
}

// countdown ends when it has been asked so often whether it has ended.
type countdown struct {
	context.Context
	left atomic.Int32
	end  context.CancelCauseFunc
	why  error
}

func (c *countdown) Err() error {
	if c.left.Add(-1) <= 0 {
		c.end(c.why)
	}
	return c.Context.Err()
}

// The context ends while a delivery is composed: what waits to be sent together with the rest is dropped.
func TestTheEndWhileComposing(t *testing.T) {
	b := newBroker(t)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: b.url}, b.queues[0], nil)
	deliver(t, o, rows(5000, 1))
	b.ids(t)
	c := &countdown{why: errors.New("the right to deliver ended")}
	c.Context, c.end = context.WithCancelCause(t.Context())
	c.left.Store(10)
	failed(t, o.Deliver(c, rows(0, 20)), poller.Unavailable, indices(0, 20), c.why.Error())
	if c.left.Load() > 0 {
		t.Fatal("the delivery ended before its context")
	}
	d := rows(100, 2)
	deliver(t, o, d)
	if diff := cmp.Diff(ids(&d), b.ids(t)); diff != "" {
		t.Errorf("what arrived (-want +got):\n%s", diff)
	}
}

// A broker that never answers: deliveries end with their contexts, and the connection is replaced.
func TestABrokerThatDoesNotAnswer(t *testing.T) {
	_, p, o := behindProxy(t, rabbitmq.Config{})
	for _, when := range []string{"connecting", "publishing"} {
		if when == "publishing" {
			deliver(t, o, rows(5000, 1))
		}
		p.hush()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		failed(t, o.Deliver(ctx, rows(0, 5)), poller.Unavailable, indices(0, 5), context.DeadlineExceeded.Error())
		cancel()
		if took := time.Since(began); took > 8*time.Second { // connecting may take 10
			t.Errorf("%s: it took %s", when, took)
		}
		if when == "connecting" {
			p.speak()
		}
	}
	p.mu.Lock()
	p.mute = nil // the old connection stays silent for ever, a new one does not
	p.mu.Unlock()
	began := time.Now()
	deliver(t, o, rows(0, 5)) // waits until the old one is reset
	if took := time.Since(began); took > beforeHeartbeats {
		t.Errorf("it took %s", took)
	}
	if n := p.dialled(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}
