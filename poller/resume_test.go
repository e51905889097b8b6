package poller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// slowOther is a feed that finds no other event before the tick ends. The document says when another instance had an
// event accepted.
type slowOther struct {
	*pollertest.Table
	slow     bool
	accepted time.Time
}

func (f *slowOther) Open(ctx context.Context) (poller.Session, error) {
	s, err := f.Table.Open(ctx)
	return &slowSession{s, f}, err
}

type slowSession struct {
	poller.Session
	feed *slowOther
}

func (s *slowSession) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	g, err := s.Session.Next(ctx, limit)
	g.Accepted = s.feed.accepted
	return g, err
}

func (s *slowSession) Other(ctx context.Context, avoid [][]byte) (poller.Grant, error) {
	if s.feed.slow {
		<-ctx.Done()
		return poller.Grant{}, context.Cause(ctx)
	}
	return s.Session.Other(ctx, avoid)
}

// TestRefusalCountsOnce: a retry is refused, and the tick ends before it is known whether the destination accepts
// anything. The next tick learns that it does, and counts the refusal. Later ticks, without a live row, send the event
// again before they count another one.
func TestRefusalCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &slowOther{Table: pollertest.TableOf("a")}
		feed.MaxAttempts, feed.Delay = 4, time.Second
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 422) })
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred)
		relay.Tick(t.Context()) // it is parked: there is no other event
		feed.slow = true
		time.Sleep(10 * time.Minute)
		relay.Tick(t.Context()) // its retry: no verdict
		feed.accepted, feed.slow = time.Now(), false
		for ticks := 0; ticks < 50 && len(feed.Dead) == 0; ticks++ {
			time.Sleep(time.Minute)
			relay.Tick(t.Context())
			feed.accepted = time.Now()
			if entry := feed.Parked[`"a"`]; entry != nil && entry.Attempts > len(to.Calls) {
				t.Fatalf("%d attempts are counted after %d requests", entry.Attempts, len(to.Calls))
			}
		}
		if len(to.Calls) < feed.MaxAttempts {
			t.Errorf("dead after %d requests", len(to.Calls))
		}
	})
}
