package poller_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// twice is a feed that looks for late rows after live ones, and finds none.
type twice struct{ *pollertest.Table }

func (f twice) Open(ctx context.Context) (poller.Session, error) {
	s, err := f.Table.Open(ctx)
	return &twiceSession{Session: s, feed: f.Table}, err
}

type twiceSession struct {
	poller.Session
	feed *pollertest.Table
	late bool
}

func (s *twiceSession) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	if s.late {
		s.late = false
		limit.Rows = 0
	}
	grant, err := s.Session.Next(ctx, limit)
	if len(grant.Batch.Events) > 0 {
		grant.Batch.More, s.late = true, true
	}
	return grant, err
}

// TestPollIntervalCountsFromTheRound: what is fetched without a wait in between, late rows after live ones for
// instance, is one round. Rounds begin a poll interval apart, and one that brought events is none that brought nothing,
// whatever its last fetch was.
func TestPollIntervalCountsFromTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(1, 1)
		feed.FetchTakes = 200 * time.Millisecond
		begun := time.Now()
		for n, after := range []time.Duration{2: 900 * time.Millisecond, 3: 1900 * time.Millisecond} {
			if after > 0 {
				time.AfterFunc(after, func() {
					feed.Lock()
					defer feed.Unlock()
					feed.Rows = pollertest.Keys(n, 1)
				})
			}
		}
		pollertest.Relay(t, twice{feed}, pollertest.NewSink(t, nil), func(c *poller.Config) {
			c.PollInterval, c.Budget = time.Second, 4500*time.Millisecond
		}).Tick(t.Context())
		var asked []int64
		for _, at := range feed.Fetches {
			asked = append(asked, at.Sub(begun).Milliseconds())
		}
		if want := []int64{0, 200, 1000, 1200, 2000, 2200, 3000, 4200}; !slices.Equal(asked, want) {
			t.Errorf("asked at %v ms, want %v", asked, want)
		}
	})
}
