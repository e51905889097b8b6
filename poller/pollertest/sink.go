package pollertest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Sink is an output that remembers what it was sent, and fails its test where two events of an order key are in flight.
// While a tick runs, its members are read and set under its lock.
type Sink struct {
	sync.Mutex
	Ordering poller.Ordering
	// Several: a request may hold several events of an order key. It takes none after the first that it fails of a key.
	Several  bool
	Calls    []change.Delivery
	Most     int               // requests ever at once
	Accepted map[string]int    // by event id
	Order    []string          // ids, as they were accepted
	Last     map[string]string // the id accepted last, by order key
	// Answer decides what happens to a delivery; nil accepts it.
	Answer Func

	tb       testing.TB
	inFlight map[string]bool
	requests int // now
}

// NewSink returns an output of ordering=key; answer may be nil.
func NewSink(tb testing.TB, answer Func) *Sink {
	return &Sink{tb: tb, Ordering: poller.OrderKey, Accepted: map[string]int{}, Last: map[string]string{},
		Answer: answer, inFlight: map[string]bool{}}
}

// Deliver accepts the events that its answer does not fail.
func (s *Sink) Deliver(ctx context.Context, d change.Delivery) error {
	s.begin(d)
	var err error
	if s.Answer != nil {
		err = s.Answer(ctx, d)
	}
	s.Lock()
	defer s.Unlock()
	s.requests--
	failed := map[int]bool{}
	if failure, ok := errors.AsType[*poller.DeliveryError](err); ok {
		for _, f := range failure.Failed {
			failed[f.Index] = true
		}
	}
	stopped := map[string]bool{} // order keys
	for i, e := range d.Events {
		delete(s.inFlight, string(e.OrderKey))
		if err != nil && (len(failed) == 0 || failed[i]) || stopped[string(e.OrderKey)] {
			stopped[string(e.OrderKey)] = s.Several
			continue
		}
		s.Accepted[e.ID]++
		s.Order = append(s.Order, e.ID)
		s.Last[string(e.OrderKey)] = e.ID
	}
	return err
}

func (s *Sink) begin(d change.Delivery) {
	s.Lock()
	defer s.Unlock()
	s.requests++
	s.Most = max(s.Most, s.requests)
	s.Calls = append(s.Calls, d)
	here := map[string]bool{}
	for _, e := range d.Events {
		key := string(e.OrderKey)
		if s.inFlight[key] && s.Ordering != poller.OrderNone && (!here[key] || !s.Several) {
			s.tb.Errorf("two events of order key %s are in flight", e.OrderKey)
		}
		s.inFlight[key], here[key] = true, true
	}
}

// Func is an output that is a function.
type Func func(context.Context, change.Delivery) error

// Deliver calls it.
func (f Func) Deliver(ctx context.Context, d change.Delivery) error { return f(ctx, d) }
