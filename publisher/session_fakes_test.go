package publisher

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

var testPolicy = poller.Policy{MaxAttempts: 3, Delays: []time.Duration{time.Second, 5 * time.Second}, MaxParked: 1,
	Block: true}

func testConfig(strategy claims.Strategy) feedConfig {
	return feedConfig{
		App: "shop", Poller: "outbox", Instance: "one", Strategy: strategy, Partitions: 4, ClaimTTL: 30 * time.Second,
		Policy: testPolicy, Ordering: poller.OrderKey,
	}
}

// driver goes through a session by hand, as a tick would.
type driver struct {
	t *testing.T
	*session
	table *fakeTable
}

func open(t *testing.T, cfg feedConfig, table *fakeTable) *driver {
	t.Helper()
	return openFeed(t, newFeed(cfg, table.open), table)
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
	d := &driver{t, own, table}
	t.Cleanup(func() {
		if !own.over() || own.deadline != nil && own.deadline.Check() == nil { // the test has failed
			_ = own.Close(context.Background(), &poller.Report{})
		}
	})
	return d
}

func (d *driver) next() poller.Grant {
	d.t.Helper()
	grant, err := d.Next(d.t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
	if err != nil {
		d.t.Fatalf("Next: %v", err)
	}
	return grant
}

// settle gives every event of the batches the outcome of its place in outcomes: one letter for each event.
func (d *driver) settle(outcomes string, grants ...poller.Grant) (int, error) {
	d.t.Helper()
	return d.settleIn(d.t.Context(), outcomes, grants...)
}

func (d *driver) settleIn(ctx context.Context, outcomes string, grants ...poller.Grant) (int, error) {
	d.t.Helper()
	var s poller.Settlement
	for _, g := range grants {
		b := poller.Settled{Batch: g.Batch, Rejections: map[int]poller.Rejection{}}
		for i := range g.Batch.Events {
			if outcomes == "" {
				d.t.Fatal("too few outcomes")
			}
			o := map[byte]poller.Outcome{'a': poller.Accepted, 'r': poller.Rejected, 'w': poller.Absorbed,
				'-': poller.Deferred}[outcomes[0]]
			if o == poller.Rejected {
				b.Rejections[i] = poller.Rejection{Cause: poller.Refused, Status: 422, Reason: "no", At: time.Now()}
			}
			outcomes = outcomes[1:]
			b.Outcomes = append(b.Outcomes, o)
		}
		s.Batches = append(s.Batches, b)
	}
	return d.Settle(ctx, s)
}

func (d *driver) settled(outcomes string, grants ...poller.Grant) {
	d.t.Helper()
	n, err := d.settle(outcomes, grants...)
	if want := len(strings.SplitN(outcomes, "-", 2)[0]); err != nil || n != want {
		d.t.Fatalf("Settle(%s) = %d, %v, want %d", outcomes, n, err, want)
	}
}

func (d *driver) close() poller.Report {
	d.t.Helper()
	report := poller.Report{Parked: -1}
	if err := d.Close(d.t.Context(), &report); err != nil {
		d.t.Errorf("Close: %v", err)
	}
	return report
}

// shape shows a batch in short: its kind where it is not live, its seqs, w behind those that wait, + where there is
// more.
func shape(g poller.Grant) string {
	var b strings.Builder
	if g.Batch.Kind == change.Retry {
		b.WriteString("retry ")
	}
	for i, e := range g.Batch.Events {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.TrimSuffix(strings.TrimPrefix(string(e.Key), `{"seq":`), "}"))
		if e.Waits {
			b.WriteByte('w')
		}
	}
	if g.Batch.More {
		b.WriteByte('+')
	}
	return b.String()
}

func (d *driver) expect(want string) poller.Grant {
	d.t.Helper()
	g := d.next()
	if got := shape(g); got != want {
		d.t.Fatalf("Next brings %q, want %q", got, want)
	}
	return g
}

func (d *driver) states(want string) {
	d.t.Helper()
	short := map[event.State]string{event.Pending: "P", event.Publishing: "G", event.Published: "x", event.Failed: "F",
		event.Waiting: "W", event.Dead: "D", event.Discarded: "0"}
	var got string
	for _, s := range d.table.db.states() {
		got += short[s]
	}
	if got != want {
		d.t.Fatalf("states are %s, want %s", got, want)
	}
}

func (d *driver) fault(event poller.Event, parts ...string) {
	d.t.Helper()
	_, err := d.Next(d.t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
	wantFault(d.t, err, event, parts...)
}

func wantFault(t *testing.T, err error, event poller.Event, parts ...string) {
	t.Helper()
	fault, ok := err.(*poller.Fault) //nolint:errorlint // Errors are a *Fault
	if !ok || fault.Event != event {
		t.Fatalf("got %v, want a fault %s", err, event)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

// called reports how often methods of the table were called since the last time.
func (t *fakeTable) called() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []string
	for _, m := range []string{"look", "draw", "join", "survey", "take", "renew", "release", "mend", "due", "fetch",
		"pick", "other", "settle", "figures"} {
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
