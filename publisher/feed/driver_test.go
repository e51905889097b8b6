package feed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

var testPolicy = poller.Policy{MaxAttempts: 3, Delays: []time.Duration{time.Second, 5 * time.Second}, MaxParked: 1,
	Block: true}

func testConfig(strategy claims.Strategy) Config {
	return Config{
		App: "shop", Poller: "outbox", Instance: "one", Strategy: strategy, Partitions: 4, ClaimTTL: 30 * time.Second,
		Policy: testPolicy, Ordering: poller.OrderKey,
	}
}

// driver drives a session over the model of an outbox.
type driver struct {
	*feedtest.Driver
	*session
	table *fakeTable
}

func open(t *testing.T, cfg Config, table *fakeTable) *driver {
	t.Helper()
	return openFeed(t, New(cfg, table.open), table)
}

func openFeed(t *testing.T, feed poller.Feed, table *fakeTable) *driver {
	t.Helper()
	s, err := feed.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own, ok := s.(*session)
	if !ok {
		t.Fatalf("%T", s)
	}
	d := &driver{&feedtest.Driver{T: t, Session: own}, own, table}
	t.Cleanup(func() {
		if !own.over() || own.hold != nil && own.hold.deadline.Check() == nil { // the test has failed
			_ = own.Close(context.Background(), &poller.Report{})
		}
	})
	return d
}

func (d *driver) states(want string) {
	d.T.Helper()
	short := map[event.State]string{event.Pending: "P", event.Published: "x", event.Failed: "F",
		event.Waiting: "W", event.Dead: "D", event.Discarded: "0"}
	var got string
	for _, s := range d.table.db.states() {
		got += short[s]
	}
	if got != want {
		d.T.Fatalf("states are %s, want %s", got, want)
	}
}

// called reports how often methods of the table were called since the last time.
func (t *fakeTable) called() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for _, m := range []string{"look", "survey", "work", "take", "renew", "release", "mend", "due", "fetch",
		"other", "settle", "figures"} {
		if n := t.calls[m]; n == 1 {
			list = append(list, m)
		} else if n > 1 {
			list = append(list, fmt.Sprintf("%s×%d", m, n))
		}
	}
	clear(t.calls)
	return strings.Join(list, " ")
}

func cause(g poller.Grant) error { return context.Cause(g.Context) }

// letters is another place for dead letters.
type letters struct {
	got []poller.DeadLetter
	err error
}

func (l *letters) Put(_ context.Context, d poller.DeadLetter) error {
	if l.err == nil {
		l.got = append(l.got, d)
	}
	return l.err
}
