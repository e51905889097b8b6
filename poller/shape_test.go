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

// shapes fills Config.Shape: rows become upper case, some are left out, and some cannot be made.
func shapes(aside, broken []string) func(*poller.Config) {
	return func(c *poller.Config) {
		c.Shape = func(e *change.Event) (change.Event, error) {
			sent := *e
			sent.Row = []byte(strings.ToUpper(string(e.Row)))
			sent.Aside = slices.Contains(aside, e.ID)
			if slices.Contains(broken, e.ID) {
				sent.Broken = errors.New("no such member")
			}
			return sent, nil
		}
	}
}

// TestWhatIsSentIsShaped: the destination gets what is made of an event; the feed settles the event as it was fetched.
func TestWhatIsSentIsShaped(t *testing.T) {
	for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderNone, poller.OrderSource} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.TableOf("a", "b", "a", "c", "d", "c")
			feed.Ordering, feed.MaxAttempts = ordering, 1
			to := pollertest.NewSink(t, nil)
			to.Ordering = ordering
			relay := pollertest.Relay(t, settledRows{feed, t}, to, pollertest.Hundred, shapes([]string{"1", "2", "5"},
				[]string{"4"}),
				func(c *poller.Config) { c.Ordering = ordering })
			var filtered, rejected int
			for range 3 { // an event that is rejected ends a tick of ordering=source
				report := relay.Tick(t.Context())
				filtered, rejected = filtered+report.Filtered, rejected+report.Rejected
				if report.Failed() {
					t.Fatalf("%s: %+v", ordering, report)
				}
			}
			slices.Sort(to.Order)
			if feed.Position != 6 || filtered != 3 || rejected != 1 || !slices.Equal(to.Order, []string{"0", "3"}) {
				t.Errorf("%s: position %d, %d filtered, %d rejected, sent %v", ordering, feed.Position, filtered, rejected,
					to.Order)
			}
			if r := feed.Reasons["4"]; r.Cause != poller.Impossible || r.Reason != "no such member" {
				t.Errorf("%s: %+v", ordering, r)
			}
			for _, d := range to.Calls {
				for _, e := range d.Events {
					if row := string(e.Row); row != strings.ToUpper(row) || row == string(e.Key) {
						t.Errorf("%s: %s was sent of %s", ordering, row, e.Key)
					}
				}
			}
		})
	}
}

// settledRows is a feed that must get the rows back that it showed.
type settledRows struct {
	*pollertest.Table

	t *testing.T
}

func (f settledRows) Open(ctx context.Context) (poller.Session, error) {
	s, err := f.Table.Open(ctx)
	return settledSession{s, f.t}, err
}

type settledSession struct {
	poller.Session

	t *testing.T
}

func (s settledSession) Settle(ctx context.Context, settlement poller.Settlement) (int, error) {
	for _, b := range settlement.Batches {
		for _, e := range b.Batch.Events {
			if string(e.Row) != string(e.Key) || e.Aside || e.Broken != nil {
				s.t.Errorf("settled %+v", e)
			}
		}
	}
	return s.Session.Settle(ctx, settlement)
}

// TestFilteredIsNoEvidence: an event that is left out does not show that the destination works. Else an outage would be
// held against the others.
func TestFilteredIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(30, 30)
		var aside []string
		for i := range 30 {
			if i != 3 {
				aside = append(aside, fmt.Sprint(i))
			}
		}
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 500) })
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred, shapes(aside, nil))
		for range 20 {
			relay.Tick(t.Context())
			time.Sleep(time.Minute)
		}
		if len(feed.Dead) > 0 {
			t.Errorf("given up in an outage: %v", feed.Dead)
		}
		for _, d := range to.Calls {
			for _, e := range d.Events {
				if e.ID != "3" {
					t.Fatalf("event %s was sent, as a probe", e.ID)
				}
			}
		}
		to.Answer = nil
		for range 10 {
			relay.Tick(t.Context())
			time.Sleep(time.Minute)
		}
		if feed.Position != 30 || to.Accepted["3"] != 1 {
			t.Errorf("position %d, accepted %v", feed.Position, to.Accepted)
		}
	})
}

// TestShapeBySettingsThatAreAtFault: the tick ends as that, and nothing is sent, settled or held against an event.
func TestShapeBySettingsThatAreAtFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed, to := pollertest.NewTable(5, 5), pollertest.NewSink(t, nil)
		report := pollertest.Relay(t, feed, to, func(c *poller.Config) {
			c.Shape = func(*change.Event) (change.Event, error) { return change.Event{}, errors.New("no column emial") }
		}).Tick(t.Context())
		if report.Event != poller.ConfigInvalid || !strings.Contains(report.Err.Error(), "emial") || feed.Position != 0 ||
			len(to.Calls) != 0 || len(feed.Outcomes) != 0 {
			t.Errorf("%+v; %d calls, outcomes %v", report, len(to.Calls), feed.Outcomes)
		}
	})
}
