package poller

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// TestRetries: a parked event is sent again when due, and what comes behind it waits until that is settled.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable([]string{"a", "bad", "c", "bad"})
		healed := false
		to := newSink(t, func(ctx context.Context, d change.Delivery) error {
			if healed {
				return nil
			}
			return poisonRows(422, "bad")(ctx, d)
		})
		relay := relayOf(t, feed, to, one)
		if report := relay.Tick(t.Context()); report.Event != TickComplete || report.Rejected != 1 || feed.position != 4 {
			t.Fatalf("%+v", report)
		}
		if got := feed.outcomes["3"]; !slices.Equal(got, []Outcome{Absorbed}) {
			t.Errorf("the event behind the parked one: %v", got)
		}
		before := len(to.calls)
		time.Sleep(2 * time.Second)
		// The newest row is another event: its attempts begin anew, and it has its own evidence to wait for.
		feed.rows = append(feed.rows, "d", "bad")
		report := relay.Tick(t.Context())
		if report.Event != TickComplete || report.Rejected != 1 || feed.position != 6 || to.accepted["4"] == 0 {
			t.Fatalf("position %d, accepted %v: %+v", feed.position, to.accepted, report)
		}
		if !report.After.Equal(position(6)) || !report.Before.Equal(position(4)) {
			t.Errorf("from %s to %s", report.Before, report.After)
		}
		if feed.parked[`"bad"`].attempts != 1 || feed.parked[`"bad"`].id != "3" {
			t.Errorf("parked: %+v", feed.parked[`"bad"`])
		}
		if sent := to.calls[before:]; !slices.ContainsFunc(sent, func(d change.Delivery) bool {
			return d.Events[0].ID == "3"
		}) {
			t.Errorf("the retry is not in %v", sent)
		}
		time.Sleep(2 * time.Second)
		healed = true
		feed.rows = append(feed.rows, "bad", "e")
		report = relay.Tick(t.Context())
		if report.Event != TickComplete || report.Rows != 3 || to.accepted["5"] != 1 || to.accepted["7"] != 1 {
			t.Errorf("%+v, accepted %v", report, to.accepted)
		}
		// The row behind was fetched after the retry, and is not lost with it: it is sent behind it where that was settled in
		// time, and waits for the next tick where it was not.
		report = relay.Tick(t.Context())
		if report.Failed() || len(feed.parked) != 0 || to.last[`"bad"`] != "6" || to.accepted["6"] != 1 {
			t.Errorf("%+v, accepted %v", report, to.accepted)
		}
		assertOrderPerKey(t, feed.rows, to.order)
	})
}

// TestRetryInAQuietTable: the destination accepted another row minutes ago.
func TestRetryInAQuietTable(t *testing.T) {
	for _, code := range []int{422, 500} {
		synctest.Test(t, func(t *testing.T) {
			feed := newParkingTable([]string{"a", "bad"})
			to := newSink(t, poisonRows(code, "bad"))
			relay := relayOf(t, feed, to, one)
			for range 20 {
				relay.Tick(t.Context())
				time.Sleep(5 * time.Second)
			}
			if !slices.Equal(feed.dead, []string{"1"}) || len(feed.parked) != 0 {
				t.Errorf("%d: dead %v, parked %v", code, feed.dead, feed.parked)
			}
		})
	}
}

// TestManyRetriesAtOnce: events that failed before go alone, so that many of them need no search.
func TestManyRetriesAtOnce(t *testing.T) {
	for _, code := range []int{422, 500, 0} {
		synctest.Test(t, func(t *testing.T) {
			feed := newParkingTable(keys(100, 100))
			to := newSink(t, poisonRows(code, keys(30, 30)...))
			relay := relayOf(t, feed, to, one)
			if report := relay.Tick(t.Context()); report.Event != TickComplete || report.Rejected != 30 {
				t.Fatalf("%+v", report)
			}
			time.Sleep(5 * time.Second)
			feed.rows = append(feed.rows, "x", "y", "z")
			before := len(to.calls)
			report := relay.Tick(t.Context())
			if report.Event != TickComplete || report.Rejected != 30 || feed.position != 103 {
				t.Fatalf("%d: %+v", code, report)
			}
			most := 30 + 5
			if code != 422 {
				most = 3*30 + 30
			}
			if n := len(to.calls) - before; n > most {
				t.Errorf("%d: %d requests for 30 retries, want at most %d", code, n, most)
			}
		})
	}
}

// TestSourceOrderWaitsAtARejectedEvent: nothing behind it is sent, and each attempt is one tick's.
func TestSourceOrderWaitsAtARejectedEvent(t *testing.T) {
	for _, code := range []int{422, 500} {
		synctest.Test(t, func(t *testing.T) {
			feed := newParkingTable(keys(6, 6))
			feed.ordering, feed.maxAttempts = OrderSource, 3
			to := newSink(t, poisonRows(code, "k2"))
			relay := relayOf(t, feed, to, func(c *Config) { one(c); c.Ordering = OrderSource })
			for attempt := 1; attempt <= 3; attempt++ {
				report := relay.Tick(t.Context())
				if report.Rejected != 1 || attempt < 3 &&
					(report.Event != HandlerFailed || report.Reason != "refused" || feed.position != 2) {
					t.Errorf("attempt %d: position %d, %+v", attempt, feed.position, report)
				}
				time.Sleep(2 * time.Second)
			}
			if !slices.Equal(feed.dead, []string{"2"}) || feed.position != 3 || len(to.accepted) != 2 {
				t.Errorf("dead %v, position %d, accepted %v", feed.dead, feed.position, to.accepted)
			}
			if report := relay.Tick(t.Context()); report.Event != TickComplete || feed.position != 6 {
				t.Errorf("after the dead letter: %+v", report)
			}
		})
	}
}
