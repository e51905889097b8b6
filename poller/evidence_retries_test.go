package poller_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestRetries: a parked event is sent again when due, and what comes after it waits until that is settled.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.TableOf("a", "bad", "c", "bad")
		healed := false
		to := pollertest.NewSink(t, func(ctx context.Context, d change.Delivery) error {
			if healed {
				return nil
			}
			return poisonRows(422, "bad")(ctx, d)
		})
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred)
		if report := relay.Tick(t.Context()); report.Event != poller.TickComplete || report.Rejected != 1 ||
			feed.Position != 4 {
			t.Fatalf("%+v", report)
		} else if r := report.Refused; r == nil || string(r.Key) != `"bad"` || r.Status != 422 {
			t.Errorf("the first refusal is told as %+v", r)
		}
		if got := feed.Outcomes["3"]; !slices.Equal(got, []poller.Outcome{poller.Absorbed}) {
			t.Errorf("the event after the parked one: %v", got)
		}
		before := len(to.Calls)
		time.Sleep(2 * time.Second)
		// The newest row is another event: its attempts begin anew, and it has its own evidence to wait for.
		feed.Rows = append(feed.Rows, "d", "bad")
		report := relay.Tick(t.Context())
		if report.Event != poller.TickComplete || report.Rejected != 1 || feed.Position != 6 || to.Accepted["4"] == 0 {
			t.Fatalf("position %d, accepted %v: %+v", feed.Position, to.Accepted, report)
		}
		if !report.After.Equal(pollertest.Position(6)) || !report.Before.Equal(pollertest.Position(4)) {
			t.Errorf("from %s to %s", report.Before, report.After)
		}
		if feed.Parked[`"bad"`].Attempts != 1 || feed.Parked[`"bad"`].ID != "3" {
			t.Errorf("parked: %+v", feed.Parked[`"bad"`])
		}
		if sent := to.Calls[before:]; !slices.ContainsFunc(sent, func(d change.Delivery) bool {
			return d.Events[0].ID == "3"
		}) {
			t.Errorf("the retry is not in %v", sent)
		}
		time.Sleep(2 * time.Second)
		healed = true
		feed.Rows = append(feed.Rows, "bad", "e")
		report = relay.Tick(t.Context())
		if report.Event != poller.TickComplete || report.Rows != 3 || to.Accepted["5"] != 1 || to.Accepted["7"] != 1 {
			t.Errorf("%+v, accepted %v", report, to.Accepted)
		}
		// The next row was fetched after the retry, and is not lost with it: it is sent after it where that was settled in
		// time, and waits for the next tick where it was not.
		report = relay.Tick(t.Context())
		if report.Failed() || len(feed.Parked) != 0 || to.Last[`"bad"`] != "6" || to.Accepted["6"] != 1 {
			t.Errorf("%+v, accepted %v", report, to.Accepted)
		}
		pollertest.CheckOrder(t, feed.Rows, to.Order)
	})
}

// TestReplayedAgainAndAgain: a row that was given up, and is replayed, is one event, however often: it is given up
// each time, also where nothing else is accepted in between.
func TestReplayedAgainAndAgain(t *testing.T) {
	for _, code := range []int{422, 0} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.TableOf("a", "bad")
			feed.MaxAttempts = 2
			relay := pollertest.Relay(t, feed, pollertest.NewSink(t, poisonRows(code, "bad")), pollertest.Hundred)
			for replay := range 4 {
				if replay > 0 {
					feed.Parked[`"bad"`] = &pollertest.Parked{ID: "1"}
				}
				for range 3 {
					if report := relay.Tick(t.Context()); report.Failed() {
						t.Errorf("%d: replay %d: %+v", code, replay, report)
					}
					time.Sleep(2 * time.Second)
				}
				if len(feed.Dead) != replay+1 {
					t.Fatalf("%d: given up %d times after %d replays", code, len(feed.Dead), replay)
				}
			}
		})
	}
}

// TestManyRetriesAtOnce: events that failed before go alone, so that many of them need no search.
func TestManyRetriesAtOnce(t *testing.T) {
	for _, code := range []int{422, 500, 0} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.NewTable(100, 100)
			to := pollertest.NewSink(t, poisonRows(code, pollertest.Keys(30, 30)...))
			relay := pollertest.Relay(t, feed, to, pollertest.Hundred)
			if report := relay.Tick(t.Context()); report.Event != poller.TickComplete || report.Rejected != 30 {
				t.Fatalf("%+v", report)
			}
			time.Sleep(5 * time.Second)
			feed.Rows = append(feed.Rows, "x", "y", "z")
			before := len(to.Calls)
			report := relay.Tick(t.Context())
			if report.Event != poller.TickComplete || report.Rejected != 30 || feed.Position != 103 {
				t.Fatalf("%d: %+v", code, report)
			}
			most := 30 + 5
			if code != 422 {
				most = 3*30 + 30
			}
			if n := len(to.Calls) - before; n > most {
				t.Errorf("%d: %d requests for 30 retries, want at most %d", code, n, most)
			}
		})
	}
}

// TestSourceOrderWaitsAtARejectedEvent: nothing after it is sent, and each attempt is one tick's.
func TestSourceOrderWaitsAtARejectedEvent(t *testing.T) {
	for _, code := range []int{422, 500} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.NewTable(6, 6)
			feed.Ordering, feed.MaxAttempts = poller.OrderSource, 3
			to := pollertest.NewSink(t, poisonRows(code, "k2"))
			relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) {
				c.Ordering = poller.OrderSource
			})
			for attempt := 1; attempt <= 3; attempt++ {
				report := relay.Tick(t.Context())
				if report.Rejected != 1 || attempt < 3 &&
					(report.Event != poller.HandlerFailed || report.Reason != "refused" || feed.Position != 2) {
					t.Errorf("attempt %d: position %d, %+v", attempt, feed.Position, report)
				}
				time.Sleep(2 * time.Second)
			}
			if !slices.Equal(feed.Dead, []string{"2"}) || feed.Position != 3 || len(to.Accepted) != 2 {
				t.Errorf("dead %v, position %d, accepted %v", feed.Dead, feed.Position, to.Accepted)
			}
			if report := relay.Tick(t.Context()); report.Event != poller.TickComplete || feed.Position != 6 {
				t.Errorf("after the dead letter: %+v", report)
			}
		})
	}
}
