// Package feedtest drives sessions of an outbox' feed, and judges what instances of it deliver. It is for tests, with
// an outbox that is a model as well as with one on a real engine.
package feedtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Driver goes through a session by hand, as a tick would.
type Driver struct {
	T *testing.T
	poller.Session
}

// Fetch returns the next batch, of ten events at most.
func (d *Driver) Fetch() poller.Grant {
	d.T.Helper()
	grant, err := d.Next(d.T.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
	if err != nil {
		d.T.Fatalf("Next: %v", err)
	}
	return grant
}

// Expect fetches a batch whose Shape must be as wanted.
func (d *Driver) Expect(want string) poller.Grant {
	d.T.Helper()
	g := d.Fetch()
	if got := Shape(g); got != want {
		d.T.Fatalf("Next brings %q, want %q", got, want)
	}
	return g
}

// ExpectFault asks for a batch, and wants a fault instead.
func (d *Driver) ExpectFault(event poller.Event, parts ...string) {
	d.T.Helper()
	_, err := d.Next(d.T.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
	WantFault(d.T, err, event, parts...)
}

// Outcomes gives every event of the batches the outcome of its place in outcomes: one letter for each event. a is
// accepted, r rejected, w absorbed, - deferred.
func (d *Driver) Outcomes(ctx context.Context, outcomes string, grants ...poller.Grant) (int, error) {
	d.T.Helper()
	var s poller.Settlement
	for _, g := range grants {
		b := poller.Settled{Batch: g.Batch, Rejections: map[int]poller.Rejection{}}
		for i := range g.Batch.Events {
			if outcomes == "" {
				d.T.Fatal("too few outcomes")
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

// Settled is Outcomes where all must go well.
func (d *Driver) Settled(outcomes string, grants ...poller.Grant) {
	d.T.Helper()
	n, err := d.Outcomes(d.T.Context(), outcomes, grants...)
	if want := len(strings.SplitN(outcomes, "-", 2)[0]); err != nil || n != want {
		d.T.Fatalf("Settle(%s) = %d, %v, want %d", outcomes, n, err, want)
	}
}

// End closes the session, which must owe nothing.
func (d *Driver) End() poller.Report {
	d.T.Helper()
	report := poller.Report{Parked: -1}
	if err := d.Close(d.T.Context(), &report); err != nil {
		d.T.Errorf("Close: %v", err)
	}
	return report
}

// Shape shows a batch in short: its kind where it is not live, its seqs, w after those that wait, + where there is
// more.
func Shape(g poller.Grant) string {
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

// WantFault checks an error of a session, and that it says the parts.
func WantFault(t *testing.T, err error, event poller.Event, parts ...string) {
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
