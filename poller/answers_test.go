package poller_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

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

// TestAgesOfAcceptedEvents: from the time in the cursor to the acceptance, however often it was sent; nothing where the
// cursor is no time.
func TestAgesOfAcceptedEvents(t *testing.T) {
	for name, c := range map[string]struct {
		undated bool
		want    map[time.Duration]int
	}{
		"a time": {false, map[time.Duration]int{0: 1, 1200 * time.Millisecond: 1, 94 * time.Second: 1}},
		"none":   {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := pollertest.NewSink(t, func(context.Context, change.Delivery) error { return nil })
				from := pollertest.TableOf("a", "b", "c")
				from.Undated = c.undated
				from.Ages = []time.Duration{-time.Second, 1234 * time.Millisecond, 94321 * time.Millisecond}
				got := pollertest.Relay(t, from, to, pollertest.Hundred).Tick(t.Context()).Ages
				if !maps.Equal(got, c.want) {
					t.Errorf("ages %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestAgeOfARowOfTheYearOne: such a time is what a program writes that has none, and its age has no number.
func TestAgeOfARowOfTheYearOne(t *testing.T) {
	to := pollertest.NewSink(t, nil)
	from := &pollertest.Pages{Batches: [][]change.Event{{{ID: "1", OrderKey: []byte("a"), Row: []byte("{}")}}}}
	if r := pollertest.Relay(t, from, to).Tick(t.Context()); r.Err != nil || len(r.Ages) != 1 {
		t.Errorf("%v, ages %v", r.Err, r.Ages)
	}
}
