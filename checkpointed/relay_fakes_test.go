package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// maxProbes is how many probes in a row the tick sends before it says that the destination is unavailable.
const maxProbes = 3

func position(i int) change.Cursor {
	if i == 0 {
		return nil
	}
	return change.Cursor(fmt.Sprintf(`{"kind":"test","value":%d}`, i))
}

// sink is an output that checks the promises of a tick while it accepts events.
type sink struct {
	t        *testing.T
	mu       sync.Mutex
	ordering poller.Ordering
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
	return &sink{t: t, ordering: poller.OrderKey, inFlight: map[string]bool{}, accepted: map[string]int{},
		last: map[string]string{}, answer: answer}
}

func (s *sink) Deliver(ctx context.Context, d change.Delivery) error {
	s.mu.Lock()
	s.requests++
	s.most = max(s.most, s.requests)
	s.calls = append(s.calls, d)
	for _, e := range d.Events {
		if s.inFlight[string(e.OrderKey)] && s.ordering != poller.OrderNone {
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
	if failure, ok := err.(*poller.DeliveryError); ok { //nolint:errorlint // the fake's own error
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

func relayOf(t *testing.T, feed poller.Feed, to poller.Output, change func(*poller.Config)) *poller.Relay {
	t.Helper()
	cfg := poller.Config{
		App: "app", Poller: "orders", Feed: feed, To: to, Ordering: poller.OrderKey, Concurrency: 4,
		Fetch: poller.Limit{Rows: 10, Bytes: 1 << 20}, RequestEvents: 3, RequestBytes: 1 << 20,
		Size: sizeOf, Retries: 3, Timeout: 30 * time.Second, Budget: 50 * time.Second,
	}
	if change != nil {
		change(&cfg)
	}
	r, err := poller.NewRelay(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sizeOf(e *change.Event) int { return e.Size() }

// named fails the events of a 200 answer.
func named(indices ...int) error {
	failed := make([]poller.FailedEvent, len(indices))
	for i, index := range indices {
		failed[i] = poller.FailedEvent{Index: index, Cause: poller.Refused, Status: 200, Named: true}
	}
	return &poller.DeliveryError{Failed: failed, Err: errors.New("the receiver named some")}
}

// one makes requests of up to 100 events of batches of up to 100.
func one(c *poller.Config) {
	c.Fetch.Rows, c.RequestEvents, c.RejectStatus = 100, 100, rejectStatus
}

var rejectStatus = []int{400, 413, 422}

func keys(n, distinct int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("k%d", i%distinct)
	}
	return rows
}

// assertOrderPerKey fails when an id was first accepted after a later one of its key.
func assertOrderPerKey(t *testing.T, rows, order []string) {
	t.Helper()
	newest, seen := map[string]int{}, map[int]bool{}
	for _, text := range order {
		var id int
		if _, err := fmt.Sscan(text, &id); err != nil {
			t.Fatal(err)
		}
		if before, ok := newest[rows[id]]; ok && before > id && !seen[id] {
			t.Errorf("event %d of %s arrived after %d", id, rows[id], before)
		}
		seen[id] = true
		newest[rows[id]] = max(newest[rows[id]], id)
	}
}

type outputFunc func(context.Context, change.Delivery) error

func (f outputFunc) Deliver(ctx context.Context, d change.Delivery) error { return f(ctx, d) }
