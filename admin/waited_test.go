package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
)

// waitedAt is the entry of a row that the poller waits at (ordering=source).
func waitedAt(n int) parking.Entry {
	return parking.Entry{ID: fmt.Sprint("e", n), Key: keyOf(n), OrderKey: []byte("[]"), Cursor: at(n), Attempts: 2,
		Next: time.Now().Add(time.Hour), Cause: "refused"}
}

// TestMoveEndsTheWaitOfSourceOrder: the position, 5, is before row 6, which the poller waits at. Its entry goes with a
// move of the position. What else is parked stays, as it is asked.
func TestMoveEndsTheWaitOfSourceOrder(t *testing.T) {
	other := parking.Entry{ID: "e2", Key: keyOf(2), OrderKey: keyOf(2)}
	for name, c := range map[string]struct {
		to, parked string
		others     []parking.Entry
		left       []string
		skipped    []int64
	}{
		"past it":                  {to: "cursor=7", skipped: []int64{2}},
		"past it, others dropped":  {to: "cursor=7", parked: "drop", others: []parking.Entry{other}, skipped: []int64{2, 1}},
		"past it, others kept":     {"cursor=7", "keep", []parking.Entry{other}, []string{`{"id":2}`}, []int64{2}},
		"back":                     {to: "cursor=3", parked: "keep"},
		"to where it is, and drop": {to: "cursor=5", parked: "drop"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.Ordering = poller.OrderSource
			f.parks(append(c.others, waitedAt(6))...)
			m, err := f.Reset(t.Context(), &Reset{To: c.to, Parked: c.parked})
			f.apply(&m.Plan, err)
			var skipped []int64
			for _, s := range f.doc().Skips {
				skipped = append(skipped, s.Rows)
			}
			if got := f.parkedKeys(); !slices.Equal(got, c.left) || !slices.Equal(skipped, c.skipped) {
				t.Errorf("parked %q, skipped %v", got, skipped)
			}
			if !strings.Contains(m.What, "key {\"id\":6}) comes again from the new position, if it is after it") {
				t.Error(m.What)
			}
		})
	}
}

// Where a tick came since the plan was made, the move is refused, and nothing is changed.
func TestMoveAfterATickDuringTheWait(t *testing.T) {
	f := newFixture(t)
	f.parks(waitedAt(6))
	m, err := f.Reset(t.Context(), &Reset{To: "cursor=7"})
	if err != nil {
		t.Fatal(err)
	}
	f.parks()
	_, err = m.Apply(t.Context())
	refused(t, err, "run the command again")
}

func TestAcceptGapEndsTheWaitOfSourceOrder(t *testing.T) {
	f := newFixture(t)
	f.parks(waitedAt(6))
	f.table.ahead, f.table.last = fmt.Errorf("%w: the counter went back", poller.ErrGap), 3
	p, err := f.AcceptGap(t.Context())
	f.apply(p, err)
	if got := f.parkedKeys(); len(got) != 0 || !strings.Contains(p.What, "comes again from the new position") {
		t.Errorf("parked %q: %s", got, p.What)
	}
}

// TestWaitedEventIsNotSkipped: what drops the entry of the event that the poller waits at forgets its attempts only.
func TestWaitedEventIsNotSkipped(t *testing.T) {
	for name, drop := range map[string]func(*fixture) (*Plan, error){
		"purge": func(f *fixture) (*Plan, error) {
			c, err := f.Choose(t.Context(), &Choice{Parked: true})
			if err != nil {
				return nil, err
			}
			return c.Purge()
		},
		"accept": func(f *fixture) (*Plan, error) {
			f.table.now.Fingerprint = "sha256:2"
			return f.AcceptFingerprint(t.Context(), "drop")
		},
	} {
		for others, want := range map[int]string{0: "", 1: "1 parked event(s) will be forgotten"} {
			f := newFixture(t)
			f.parks([]parking.Entry{waitedAt(6), {ID: "e12", Key: keyOf(12), OrderKey: keyOf(12)}}[:1+others]...)
			p, err := drop(f)
			f.apply(p, err)
			if skips := f.doc().Skips; len(skips) != others || others > 0 && skips[0].Rows != 1 || len(f.parkedKeys()) != 0 {
				t.Errorf("%s: skips %+v, parked %q", name, skips, f.parkedKeys())
			}
			if !strings.Contains(p.What, `key {"id":6}) is not skipped`) || !strings.Contains(p.What, want) ||
				strings.Contains(p.What, "forgotten") != (others > 0) {
				t.Errorf("%s: %s", name, p.What)
			}
		}
	}
}

// TestCloneOfAPollerThatWaits: the clone begins before the event that the poller waits at, and gets it.
func TestCloneOfAPollerThatWaits(t *testing.T) {
	f := newFixture(t)
	f.parks(waitedAt(6))
	p, err := f.Clone(t.Context(), "orders", f.document(f.Store, "stock"), "stock")
	if err != nil || strings.Contains(p.What, "stay with") {
		t.Errorf("%+v, %v", p, err)
	}
}
