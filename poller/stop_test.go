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

// patient is a feed that waits in its first fetch for as long as it may, and then has more.
type patient struct {
	*pollertest.Table
	fetches int
}

func (f *patient) Open(context.Context) (poller.Session, error) { return &patientSession{feed: f}, nil }

type patientSession struct {
	poller.Session
	feed *patient
}

func (s *patientSession) Next(ctx context.Context, _ poller.Limit) (poller.Grant, error) {
	s.feed.fetches++
	<-ctx.Done()
	return poller.Grant{Batch: change.Batch{More: true}}, nil
}

func (s *patientSession) Close(context.Context, *poller.Report) error { return nil }

// TestAStopBeginsNoFetch: what ends with the invocation may be heard of before the stop is, and begins nothing more.
func TestAStopBeginsNoFetch(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			feed := &patient{Table: pollertest.NewTable(0, 0)}
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			pollertest.Relay(t, feed, pollertest.NewSink(t, nil)).Tick(ctx)
			if feed.fetches != 1 {
				t.Fatalf("%d fetches", feed.fetches)
			}
		})
	}
}
