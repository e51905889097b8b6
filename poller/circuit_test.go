package poller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// asked ticks every second for d, and counts by calls what was asked in each minute. Every tick must fail as event.
func asked(t *testing.T, relay *poller.Relay, d time.Duration, event poller.Event, calls func() int) (minutes []int) {
	t.Helper()
	before := calls()
	for s := range int(d / time.Second) {
		if r := relay.Tick(t.Context()); r.Event != event || !strings.Contains(r.Err.Error(), "gone") {
			t.Fatalf("second %d: %+v", s, r)
		}
		time.Sleep(time.Second)
		if s%60 == 59 {
			minutes = append(minutes, calls()-before)
			before = calls()
		}
	}
	return minutes
}

// goneWhile is a destination that is down, or takes everything.
func goneWhile(t *testing.T, down *bool) *pollertest.Sink {
	t.Helper()
	return pollertest.NewSink(t, func(context.Context, change.Delivery) error {
		if *down {
			return errors.New("gone")
		}
		return nil
	})
}

// TestADestinationThatIsDownIsAskedRarely: the first seconds as ever, then in growing pauses; all is delivered within a
// minute of its return, and then nothing remains of it.
func TestADestinationThatIsDownIsAskedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		to := goneWhile(t, &down)
		feed := pollertest.NewTable(100, 100)
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.Retries = 1 })
		relay.Tick(t.Context())
		begun := len(to.Calls)
		relay.Tick(t.Context())
		one := len(to.Calls) - begun // requests of a tick that finds it down again
		minutes := asked(t, relay, 10*time.Minute, poller.HandlerFailed, func() int { return len(to.Calls) })
		if minutes[0] < 9*one || minutes[0] > 20*one {
			t.Errorf("%d requests in the first minute, %d in a tick", minutes[0], one)
		}
		for i, n := range minutes[2:] {
			if n < one || n > 3*one {
				t.Errorf("%d requests in minute %d, %d in a tick", n, i+2, one)
			}
		}
		r := relay.Tick(t.Context())
		if r.RetryAt.IsZero() { // this one was due to ask
			r = relay.Tick(t.Context())
		}
		if r.RetryAt.IsZero() ||
			!strings.Contains(r.Err.Error(), "it has failed since 00:00:0") ||
			!strings.Contains(r.Err.Error(), "is tried again at ") || r.Token != 0 {
			t.Errorf("%+v", r)
		}
		down = false
		back := time.Now()
		for feed.Position < 100 {
			if relay.Tick(t.Context()); time.Since(back) > time.Minute {
				t.Fatal("it is back for a minute, and not asked")
			}
			time.Sleep(time.Second)
		}
		feed.Rows = append(feed.Rows, "k1")
		down = true
		for range 5 {
			if r := relay.Tick(t.Context()); !r.RetryAt.IsZero() {
				t.Errorf("the next outage begins with a pause: %v", r.Err)
			}
		}
	})
}

// TestAPlaceThatIsGoneForAllIsAskedRarely: a queue that is missing or full, where there is no event for another one.
// Its return is found within a minute.
func TestAPlaceThatIsGoneForAllIsAskedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := true
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
			if !gone {
				return nil
			}
			failed := &poller.DeliveryError{Err: errors.New("gone")}
			for i := range d.Events {
				failed.Failed = append(failed.Failed, poller.FailedEvent{Index: i, Cause: poller.Misplaced, Named: true})
			}
			return failed
		})
		feed := pollertest.NewTable(100, 5)
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.Retries = 1 })
		minutes := asked(t, relay, 5*time.Minute, poller.HandlerFailed, func() int { return len(to.Calls) })
		for i, n := range minutes[2:] {
			if n > minutes[0]/4 {
				t.Errorf("%d requests in minute %d, %d in the first", n, i+2, minutes[0])
			}
		}
		gone = false
		for back := time.Now(); feed.Position < 100; time.Sleep(time.Second) {
			if relay.Tick(t.Context()); time.Since(back) > time.Minute {
				t.Fatal("it is back for a minute, and not asked")
			}
		}
	})
}

// TestADestinationThatIsDownIsAskedWithLittle: of all that waits a tick sends a few single events, until one is
// accepted.
func TestADestinationThatIsDownIsAskedWithLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		to := goneWhile(t, &down)
		feed := pollertest.NewTable(600, 600)
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.Retries = 1 })
		tick := func() (r poller.Report, events int) {
			before := len(to.Calls)
			r = relay.Tick(t.Context())
			for _, d := range to.Calls[before:] {
				events += len(d.Events)
			}
			return r, events
		}
		if _, events := tick(); events < 200 {
			t.Fatalf("%d events were sent by the first tick: the case shows nothing", events)
		}
		for range 60 {
			time.Sleep(time.Minute)
			if r, events := tick(); r.Event != poller.HandlerFailed || events == 0 || events > 12 {
				t.Fatalf("a tick that asks again sends %d events: %+v", events, r)
			}
		}
		down = false
		time.Sleep(time.Minute)
		if r, _ := tick(); r.Failed() || r.Delivered != 600 {
			t.Errorf("it is back: %+v", r)
		}
	})
}

// TestASourceThatIsDownIsAskedRarely: whether it fails when it is opened or when a page is fetched.
func TestASourceThatIsDownIsAskedRarely(t *testing.T) {
	for name, why := range map[string]error{
		"connection": &poller.Fault{Event: poller.FetchFailed, Err: errors.New("gone")},
		"settings":   &poller.Fault{Event: poller.ConfigInvalid, Err: errors.New("gone")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fault *poller.Fault
				errors.As(why, &fault)
				feed := &counted{Table: pollertest.NewTable(1, 1), err: why}
				relay := pollertest.Relay(t, feed, pollertest.NewSink(t, nil))
				minutes := asked(t, relay, 5*time.Minute, fault.Event, func() int { return feed.opened })
				if minutes[0] < 10 || minutes[0] > 20 || minutes[3] > 3 {
					t.Errorf("asked %v times a minute", minutes)
				}
				feed.err = nil
				time.Sleep(time.Minute)
				if r := relay.Tick(t.Context()); r.Failed() || feed.Position != 1 {
					t.Errorf("afterwards: %+v", r)
				}
			})
		})
	}
}

// TestARefusedLoginIsNotRepeatedEachSecond: not even in the first seconds.
func TestARefusedLoginIsNotRepeatedEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &counted{Table: pollertest.NewTable(1, 1),
			err: &poller.Fault{Event: poller.ConfigInvalid, Err: fmt.Errorf("%w: gone", poller.ErrLogin)}}
		relay := pollertest.Relay(t, feed, pollertest.NewSink(t, nil))
		minutes := asked(t, relay, 3*time.Minute, poller.ConfigInvalid, func() int { return feed.opened })
		if minutes[0] > 4 || minutes[2] > 2 || minutes[2] == 0 {
			t.Errorf("asked %v times a minute", minutes)
		}
	})
}

// TestAStoreThatIsDownIsAskedByEachTick: nothing is kept from it; its client has its own bound.
func TestAStoreThatIsDownIsAskedByEachTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &counted{Table: pollertest.NewTable(1, 1),
			err: &poller.Fault{Event: poller.CheckpointLoadFailed, Err: errors.New("gone")}}
		relay := pollertest.Relay(t, feed, pollertest.NewSink(t, nil))
		minutes := asked(t, relay, time.Minute, poller.CheckpointLoadFailed, func() int { return feed.opened })
		if minutes[0] != 60 {
			t.Errorf("asked %v times a minute", minutes)
		}
	})
}

// TestRowsThatCannotBeSettledAreSentRarely: where the destination accepts rows and no commit works (a full disk under
// the state that still takes the lease), they do not come again with every tick.
func TestRowsThatCannotBeSettledAreSentRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &unsettled{pollertest.NewTable(10, 10), &poller.Fault{Event: poller.CommitFailed, Err: errors.New("gone")}}
		to := pollertest.NewSink(t, nil)
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred)
		minutes := asked(t, relay, 5*time.Minute, poller.CommitFailed, func() int { return len(to.Calls) })
		if minutes[0] < 10 || minutes[0] > 20 || minutes[3] > 3 || minutes[3] == 0 {
			t.Errorf("sent %v times a minute", minutes)
		}
		feed.err = nil
		time.Sleep(time.Minute)
		if r := relay.Tick(t.Context()); r.Failed() || feed.Position != 10 {
			t.Errorf("afterwards: %+v", r)
		}
	})
}

// counted is a table whose opening is counted, and fails.
type counted struct {
	*pollertest.Table
	err    error
	opened int
}

func (c *counted) Open(ctx context.Context) (poller.Session, error) {
	if c.opened++; c.err != nil {
		return nil, c.err
	}
	return c.Table.Open(ctx)
}

// unsettled is a table of which nothing can be settled.
type unsettled struct {
	*pollertest.Table
	err error
}

func (u *unsettled) Open(ctx context.Context) (poller.Session, error) {
	session, err := u.Table.Open(ctx)
	return &unsettledSession{session, u}, err
}

type unsettledSession struct {
	poller.Session
	of *unsettled
}

func (s *unsettledSession) Settle(ctx context.Context, settlement poller.Settlement) (int, error) {
	if s.of.err != nil {
		return 0, s.of.err
	}
	return s.Session.Settle(ctx, settlement)
}
