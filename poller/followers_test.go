package poller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestSeveralOfOneKey: a destination that takes several events of an order key gets them in one request, in order, and
// beside them those of others.
func TestSeveralOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(0, 1)
		feed.Rows = []string{"a", "a", "b", "a", "a", "c", "a"}
		to := pollertest.NewSink(t, pollertest.Slow(time.Second))
		to.KeyEvents = 3
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.KeyEvents = 3 })
		if report := relay.Tick(t.Context()); report.Event != poller.TickComplete || feed.Position != 7 {
			t.Fatalf("position %d: %+v", feed.Position, report)
		}
		got := make([]string, len(to.Calls))
		for i, d := range to.Calls {
			for _, e := range d.Events {
				got[i] += e.ID
			}
		}
		if want := []string{"01325", "46"}; !slices.Equal(got, want) {
			t.Errorf("requests %q, want %q", got, want)
		}
	})
}

// TestFollowersOfAFailure: one of several events of an order key fails, in every way; those behind it wait for it.
func TestFollowersOfAFailure(t *testing.T) {
	for name, fails := range map[string]poller.FailedEvent{
		"impossible":  {Cause: poller.Impossible, Named: true},
		"refused":     {Cause: poller.Refused, Status: 422},
		"unavailable": {Status: 500},
	} {
		for at := range 3 {
			t.Run(fmt.Sprint(name, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { followersOfAFailure(t, fmt.Sprint(2*at), fails) })
			})
		}
	}
}

func followersOfAFailure(t *testing.T, bad string, fails poller.FailedEvent) {
	feed := pollertest.NewTable(0, 1)
	feed.Rows = []string{"a", "b", "a", "b", "a", "b", "a"}
	to := pollertest.NewSink(t, nil)
	to.KeyEvents = 4
	to.Answer = func(_ context.Context, d change.Delivery) error {
		i := slices.IndexFunc(d.Events, func(e change.Event) bool { return e.ID == bad })
		if i < 0 {
			return nil
		}
		failed := fails
		failed.Index = i
		return pollertest.InOrder(d, &poller.DeliveryError{Failed: []poller.FailedEvent{failed}, Err: errors.New("no")})
	}
	relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.KeyEvents = 4 })
	report := relay.Tick(t.Context())
	if want := "0 2 4 6 "; !strings.HasPrefix(want, ordered(to, "a")) || strings.Contains(ordered(to, "a"), bad) {
		t.Errorf("of a arrived %q, and %s is bad", ordered(to, "a"), bad)
	}
	if got := ordered(to, "b"); got != "1 3 5 " {
		t.Errorf("of b arrived %q", got)
	}
	if !slices.Contains(feed.Outcomes[bad], poller.Rejected) || feed.Position != 7 {
		t.Errorf("position %d, outcomes %v: %+v", feed.Position, feed.Outcomes, report)
	}
}

// TestFollowerThatIsAcceptedAlone: an output accepts an event behind one that it failed, which it must not. The event is
// sent again, behind that one.
func TestFollowerThatIsAcceptedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(0, 1)
		feed.Rows = []string{"a", "a", "a"}
		failures := 1
		to := pollertest.NewSink(t, func(context.Context, change.Delivery) error {
			if failures--; failures < 0 {
				return nil
			}
			return &poller.DeliveryError{Failed: []poller.FailedEvent{{Index: 0, Status: 500}}, Err: errors.New("no")}
		})
		to.KeyEvents = 2
		relay := pollertest.Relay(t, feed, to, func(c *poller.Config) { c.KeyEvents, c.Retries = 2, 1 })
		if report := relay.Tick(t.Context()); feed.Position != 3 || ordered(to, "a") != "1 0 1 2 " {
			t.Errorf("position %d, arrived %q: %+v", feed.Position, ordered(to, "a"), report)
		}
	})
}

// ordered are the events of a key as they arrived.
func ordered(to *pollertest.Sink, key string) (ids string) {
	rows := map[string]string{}
	for _, d := range to.Calls {
		for _, e := range d.Events {
			rows[e.ID] = string(e.OrderKey)
		}
	}
	for _, id := range to.Order {
		if strings.Contains(rows[id], key) {
			ids += id + " "
		}
	}
	return ids
}
