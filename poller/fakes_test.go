package poller

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

// table is a feed over rows in memory whose position is an index. It counts what is asked of it.
type table struct {
	mu       sync.Mutex
	rows     []string // order keys, in source order
	position int      // acknowledged rows
	fetches  int
	asked    []time.Time // when each fetch began
	settles  []settlementMade
	closed   int
	cancel   context.CancelCauseFunc
	fetchErr error
	commit   error // returned by Settle without effect
	wait     time.Duration
	peak     int           // most batches handed out and not settled
	pending  []int         // where the batches end that were handed out and not settled
	slow     time.Duration // what a commit takes
}

type settlementMade struct {
	n    int
	last bool
}

func (f *table) Open(context.Context) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	right, cancel := context.WithCancelCause(context.Background())
	f.cancel, f.pending = cancel, nil
	return &tableSession{table: f, frontier: f.position, right: right}, nil
}

// end ends the right to deliver.
func (f *table) end(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancel(cause)
}

type tableSession struct {
	*table
	frontier int
	right    context.Context
}

func position(i int) change.Cursor {
	if i == 0 {
		return nil
	}
	return change.Cursor(fmt.Sprintf(`{"kind":"test","value":%d}`, i))
}

func (s *tableSession) Next(ctx context.Context, limit Limit) (Grant, error) {
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	s.mu.Unlock()
	if err := clock.Sleep(ctx, s.wait); err != nil {
		return Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetches++
	if s.fetchErr != nil {
		return Grant{}, s.fetchErr
	}
	end := min(s.frontier+limit.Rows, len(s.rows))
	batch := change.Batch{ID: fmt.Sprintf("batch_%d", s.fetches), From: position(s.frontier), More: end < len(s.rows)}
	for i := s.frontier; i < end; i++ {
		key := []byte(fmt.Sprintf("%q", s.rows[i]))
		batch.Events = append(batch.Events,
			change.Event{ID: fmt.Sprint(i), Key: key, OrderKey: key, Row: key, Cursor: position(i + 1), Time: time.Now()})
	}
	if len(batch.Events) > 0 {
		s.pending = append(s.pending, end)
		s.peak = max(s.peak, len(s.pending))
	}
	s.frontier = end
	return Grant{Batch: batch, Right: s.right, Token: 7, Check: func() error { return context.Cause(s.right) }}, nil
}

func (s *tableSession) Parked([]byte) bool { return false }

func (s *tableSession) Other(context.Context, [][]byte) (Grant, error) { return Grant{}, nil }

func (s *tableSession) Settle(ctx context.Context, settled Settlement) (int, error) {
	if err := clock.Sleep(ctx, s.slow); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.commit != nil {
		return 0, s.commit
	}
	if err := context.Cause(s.right); err != nil {
		return 0, &Fault{LostLease, err}
	}
	if from := settled.Batches[0].Batch.From; !from.Equal(position(s.position)) {
		return 0, fmt.Errorf("batch from %s, committed %s", from, position(s.position))
	}
	n := 0
	for _, b := range settled.Batches {
		n += prefix(b.Outcomes)
		if prefix(b.Outcomes) < len(b.Outcomes) {
			break
		}
	}
	s.position += n
	for len(s.pending) > 0 && s.pending[0] <= s.position {
		s.pending = s.pending[1:]
	}
	s.settles = append(s.settles, settlementMade{n, settled.Last})
	return n, nil
}

func (s *tableSession) Close(context.Context, *Report) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	s.cancel(context.Canceled)
	return nil
}

// sink is an output that checks the promises of a tick while it accepts events.
type sink struct {
	t        *testing.T
	mu       sync.Mutex
	ordering Ordering
	inFlight map[string]bool
	requests int // now
	most     int // ever at once
	calls    []change.Delivery
	accepted map[string]int // by event id
	last     map[string]string
	order    []string
	// answer decides what happens to a delivery; nil accepts it.
	answer func(ctx context.Context, d change.Delivery) error
}

func newSink(t *testing.T, answer func(context.Context, change.Delivery) error) *sink {
	return &sink{t: t, ordering: OrderKey, inFlight: map[string]bool{}, accepted: map[string]int{},
		last: map[string]string{}, answer: answer}
}

func (s *sink) Deliver(ctx context.Context, d change.Delivery) error {
	s.mu.Lock()
	s.requests++
	s.most = max(s.most, s.requests)
	s.calls = append(s.calls, d)
	for _, e := range d.Events {
		if s.inFlight[string(e.OrderKey)] && s.ordering != OrderNone {
			s.t.Errorf("two events of order key %s are in flight", e.OrderKey)
		}
		s.inFlight[string(e.OrderKey)] = true
	}
	s.mu.Unlock()
	var err error
	if s.answer != nil {
		err = s.answer(ctx, d)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
	failed := map[int]bool{}
	if failure, ok := err.(*DeliveryError); ok { //nolint:errorlint // the fake's own error
		for _, f := range failure.Failed {
			failed[f.Index] = true
		}
	}
	for i, e := range d.Events {
		delete(s.inFlight, string(e.OrderKey))
		if err != nil && (len(failed) == 0 || failed[i]) {
			continue
		}
		s.accepted[e.ID]++
		s.order = append(s.order, e.ID)
		var id int
		if _, err := fmt.Sscan(e.ID, &id); err != nil {
			s.t.Error(err)
		}
		s.last[string(e.OrderKey)] = e.ID
	}
	return err
}

func relayOf(t *testing.T, feed Feed, to Output, change func(*Config)) *Relay {
	t.Helper()
	cfg := Config{
		App: "app", Poller: "orders", Feed: feed, To: to, Ordering: OrderKey, Concurrency: 4,
		Fetch: Limit{Rows: 10, Bytes: 1 << 20}, RequestEvents: 3, RequestBytes: 1 << 20,
		Size: sizeOf, Retries: 3, Timeout: 30 * time.Second, Budget: 50 * time.Second,
	}
	if change != nil {
		change(&cfg)
	}
	r, err := NewRelay(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sizeOf(e *change.Event) int { return e.Size() }
