package poller_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
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

// sweep is a feed of one late row, before which live ones may come. Another event is not there to be asked for.
type sweep struct {
	pollertest.Pages
	kinds []change.Kind
	late  change.Event
}

func (f *sweep) Open(context.Context) (poller.Session, error) { return f, nil }

// begin has the next tick find these live rows, and then the late one.
func (f *sweep) begin(live ...change.Event) {
	f.Batches, f.kinds = [][]change.Event{{f.late}}, []change.Kind{change.Sweep}
	if len(live) > 0 {
		f.Batches, f.kinds = [][]change.Event{live, {f.late}}, []change.Kind{change.Live, change.Sweep}
	}
}

func (f *sweep) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	time.Sleep(100 * time.Millisecond) // what came before is accepted
	g, err := f.Pages.Next(ctx, limit)
	if len(f.kinds) > 0 {
		g.Batch.Kind, f.kinds = f.kinds[0], f.kinds[1:]
	}
	return g, err
}

func (f *sweep) Settle(ctx context.Context, s poller.Settlement) (int, error) {
	for i := range s.Batches {
		for e, outcome := range s.Batches[i].Outcomes {
			if outcome == poller.Rejected && s.Batches[i].Batch.Events[e].ID == f.late.ID {
				f.late.Attempts++
			}
		}
	}
	return f.Pages.Settle(ctx, s)
}

// TestLateRowWithoutAnswer: a late row gets no answer, which takes most of a tick, or is answered as a destination that
// is away. Live rows come before it now and then, and are accepted: that is evidence, although they are of another kind
// of batch than the row, and whether a tick ends with its budget or with nothing else to send.
func TestLateRowWithoutAnswer(t *testing.T) {
	event := func(id string) change.Event {
		return change.Event{ID: id, Key: []byte(id), OrderKey: []byte(id), Row: []byte("{}"), Cursor: pollertest.Position(1)}
	}
	silence := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	away := func(context.Context) error {
		return poller.FailAll(1, poller.Unavailable, http.StatusServiceUnavailable, errors.New("away"))
	}
	for name, c := range map[string]struct {
		budget time.Duration
		answer func(context.Context) error
		apart  bool // no session finds both
	}{
		"silence":                      {12 * time.Second, silence, false},
		"silence for a tick's budget":  {10 * time.Second, silence, false},
		"silence, sessions of its own": {12 * time.Second, silence, true},
		"silence for a tick's budget, sessions of its own": {10 * time.Second, silence, true},
		"503":                      {12 * time.Second, away, false},
		"503, sessions of its own": {12 * time.Second, away, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := &sweep{late: event("late")}
				to := pollertest.NewSink(t, func(ctx context.Context, d change.Delivery) error {
					if d.Events[0].ID != "late" {
						return nil
					}
					return c.answer(ctx)
				})
				relay := pollertest.Relay(t, feed, to, func(p *poller.Config) { p.Timeout, p.Budget = 10*time.Second, c.budget })
				for n := 0; n < 20 && feed.late.Attempts == 0; n++ {
					if feed.begin(); n%3 == 2 || c.apart && n%3 == 1 {
						feed.begin(event("live " + strconv.Itoa(n)))
						if c.apart {
							feed.Batches, feed.kinds = feed.Batches[:1], feed.kinds[:1]
						}
					}
					relay.Tick(t.Context())
					time.Sleep(time.Minute) // a destination that does not answer is left alone for a while
				}
				if feed.late.Attempts == 0 {
					t.Errorf("no attempt is counted after %d requests", len(to.Calls))
				}
			})
		})
	}
}

// TestHintOfARowThatIsGone: a session that ends without it may only not have looked for it. Nothing is kept of it for
// long.
func TestHintOfARowThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &sweep{late: change.Event{ID: "late", Key: []byte("1"), OrderKey: []byte("1"), Row: []byte("{}")}}
		to := pollertest.NewSink(t, func(ctx context.Context, _ change.Delivery) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		relay := pollertest.Relay(t, feed, to,
			func(c *poller.Config) { c.Timeout, c.Budget = 10*time.Second, 10*time.Second })
		feed.begin()
		if r := relay.Tick(t.Context()); r.Searching == 0 {
			t.Fatalf("%+v", r)
		}
		if r := relay.Tick(t.Context()); r.Searching == 0 || r.Err != nil {
			t.Errorf("at once: %d, %v", r.Searching, r.Err)
		}
		time.Sleep(5 * time.Minute)
		if r := relay.Tick(t.Context()); r.Searching != 0 || r.Err != nil {
			t.Errorf("later: %d, %v", r.Searching, r.Err)
		}
	})
}
