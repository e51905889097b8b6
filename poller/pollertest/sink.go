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
	// KeyEvents is how many events of one order key a delivery may hold; 0 is 1.
	KeyEvents int
	Calls     []change.Delivery
	Most      int               // requests ever at once
	Accepted  map[string]int    // by event id
	Order     []string          // ids, as they were accepted
	Last      map[string]string // the id accepted last, by order key
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
	for i, e := range d.Events {
		delete(s.inFlight, string(e.OrderKey))
		if err != nil && (len(failed) == 0 || failed[i]) {
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
	here := map[string]int{}
	for _, e := range d.Events {
		key := string(e.OrderKey)
		here[key]++
		if (here[key] == 1 && s.inFlight[key] || here[key] > max(s.KeyEvents, 1)) && s.Ordering != poller.OrderNone {
			s.tb.Errorf("two events of order key %s are in flight", e.OrderKey)
		}
		s.inFlight[key] = true
	}
}

// InOrder is the answer err of an output that takes several events of an order key: what comes after one that failed
// failed as well.
func InOrder(d change.Delivery, err error) error {
	said, ok := errors.AsType[*poller.DeliveryError](err)
	if !ok {
		return err
	}
	all, failed := *said, map[string]bool{}
	all.Failed = nil
	next := said.Failed
	for i, e := range d.Events {
		switch {
		case len(next) > 0 && next[0].Index == i:
			all.Failed, next = append(all.Failed, next[0]), next[1:]
		case failed[string(e.OrderKey)]:
			all.Failed = append(all.Failed, poller.FailedEvent{Index: i})
		default:
			continue
		}
		failed[string(e.OrderKey)] = true
	}
	return &all
}

// Func is an output that is a function.
type Func func(context.Context, change.Delivery) error

// Deliver calls it.
func (f Func) Deliver(ctx context.Context, d change.Delivery) error { return f(ctx, d) }
