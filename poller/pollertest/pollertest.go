// Package pollertest is what tests of ticks share. [Table] is a feed over rows in memory: it parks what is rejected,
// and checks that no row is left out or settled twice. [Pages] is a feed of prepared batches. [Sink] is an output that
// checks the order, [Func] one that is a function. [Relay] joins feed and output with settings that a test adjusts.
package pollertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
)

// MaxProbes is how many probes in a row a tick sends before it says that the destination is unavailable
// (docs/failures.md).
const MaxProbes = 3

// Relay returns a relay from a feed to an output, with settings that a test may adjust.
func Relay(tb testing.TB, feed poller.Feed, to poller.Output, adjust ...func(*poller.Config)) *poller.Relay {
	tb.Helper()
	cfg := poller.Config{
		App: "app", Poller: "orders", Feed: feed, To: to, Ordering: poller.OrderKey, Concurrency: 4,
		Fetch: poller.Limit{Rows: 10, Bytes: 1 << 20}, RequestEvents: 3, RequestBytes: 1 << 20,
		Size: (*change.Event).Size, Retries: 3, Timeout: 30 * time.Second, Budget: 50 * time.Second,
	}
	for _, f := range adjust {
		f(&cfg)
	}
	relay, err := poller.NewRelay(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return relay
}

// Hundred adjusts a relay: requests of up to 100 events, of batches of up to 100, and the usual statuses that refuse.
func Hundred(c *poller.Config) {
	c.Fetch.Rows, c.RequestEvents, c.RejectStatus = 100, 100, []int{400, 413, 422}
}

// Keys returns n order keys, of which so many are distinct, in turn.
func Keys(n, distinct int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("k%d", i%distinct)
	}
	return rows
}

// Position is the cursor after so many rows.
func Position(rows int) change.Cursor {
	if rows == 0 {
		return nil
	}
	return change.Cursor(fmt.Sprintf(`{"kind":"test","value":%d}`, rows))
}

// CheckOrder fails where an id was first accepted after a later one of its key. An id is the index of its row.
func CheckOrder(t *testing.T, rows, order []string) {
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

// Slow accepts each delivery after a while.
func Slow(takes time.Duration) Func {
	return func(ctx context.Context, _ change.Delivery) error { return clock.Sleep(ctx, takes) }
}

// Status fails a whole request with an HTTP status.
func Status(d change.Delivery, code int) error {
	cause := poller.Unavailable
	if code >= 400 && code < 500 {
		cause = poller.Refused
	}
	return poller.FailAll(len(d.Events), cause, code, fmt.Errorf("the receiver answered %d", code))
}

// Named fails the events that a 200 answer names.
func Named(indices ...int) error {
	failed := make([]poller.FailedEvent, len(indices))
	for i, index := range indices {
		failed[i] = poller.FailedEvent{Index: index, Cause: poller.Refused, Status: 200, Named: true}
	}
	return &poller.DeliveryError{Failed: failed, Err: errors.New("the receiver named some")}
}
