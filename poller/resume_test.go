package poller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// slowOther is a feed that finds no other event before the tick ends. The document says when another instance had an
// event accepted.
type slowOther struct {
	*parkingTable
	slow     bool
	accepted time.Time
}

func (f *slowOther) Open(ctx context.Context) (Session, error) {
	s, err := f.parkingTable.Open(ctx)
	return &slowSession{s, f}, err
}

type slowSession struct {
	Session
	feed *slowOther
}

func (s *slowSession) Next(ctx context.Context, limit Limit) (Grant, error) {
	g, err := s.Session.Next(ctx, limit)
	g.Accepted = s.feed.accepted
	return g, err
}

func (s *slowSession) Other(ctx context.Context, avoid [][]byte) (Grant, error) {
	if s.feed.slow {
		<-ctx.Done()
		return Grant{}, context.Cause(ctx)
	}
	return s.Session.Other(ctx, avoid)
}

// TestRefusalCountsOnce: a retry is refused, and the tick ends before it is known whether the destination accepts
// anything. The next tick learns that it does, and counts the refusal. Later ticks, without a live row, send the event
// again before they count another one.
func TestRefusalCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &slowOther{parkingTable: newParkingTable([]string{"a"})}
		feed.maxAttempts, feed.delay = 4, time.Second
		to := newSink(t, func(_ context.Context, d change.Delivery) error { return status(d, 422) })
		relay := relayOf(t, feed, to, one)
		relay.Tick(t.Context()) // it is parked: there is no other event
		feed.slow = true
		time.Sleep(10 * time.Minute)
		relay.Tick(t.Context()) // its retry: no verdict
		feed.accepted, feed.slow = time.Now(), false
		for ticks := 0; ticks < 50 && len(feed.dead) == 0; ticks++ {
			time.Sleep(time.Minute)
			relay.Tick(t.Context())
			feed.accepted = time.Now()
			if entry := feed.parked[`"a"`]; entry != nil && entry.attempts > len(to.calls) {
				t.Fatalf("%d attempts are counted after %d requests", entry.attempts, len(to.calls))
			}
		}
		if len(to.calls) < feed.maxAttempts {
			t.Errorf("dead after %d requests", len(to.calls))
		}
	})
}
