package poller_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestAnswersAreCounted: each request, its repetitions included, by what the destination said.
func TestAnswersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
			switch calls++; calls {
			case 1:
				return poller.FailAll(len(d.Events), poller.Unavailable, 503, errors.New("busy"))
			case 2:
				return errors.New("no connection")
			case 3:
				return &poller.DeliveryError{Failed: []poller.FailedEvent{{Index: 0, Cause: poller.Refused, Status: 422,
					Named: true, Err: errors.New("not this one")}}}
			}
			return nil
		})
		relay := pollertest.Relay(t, pollertest.TableOf("a", "b", "c"), to, pollertest.Hundred)
		got := relay.Tick(t.Context()).Answers
		if want := map[string]int{"503": 1, poller.Unanswered: 1, poller.AnsweredInPart: 1}; !maps.Equal(got, want) {
			t.Errorf("answers %v, want %v", got, want)
		}
	})
}
