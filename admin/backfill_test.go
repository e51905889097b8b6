package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// foreigner reads the first part of a position as a row's number.
type foreigner struct{}

func (foreigner) Foreign(_ context.Context, parts []json.RawMessage, _ []string) (change.Cursor, error) {
	var n int
	err := json.Unmarshal(parts[0], &n)
	return at(n), err
}

func (foreigner) InForm(_ context.Context, at change.Cursor) (change.Cursor, error) { return at, nil }

func TestBackfillOfTheLivePoller(t *testing.T) {
	f := newFixture(t)
	_, err := f.Running(t.Context())
	nothingToDo(t, err, "no backfill of orders is running")
	s, err := f.Backfill(t.Context(), &Rows{From: "beginning", To: "cursor=4", Rate: 7})
	if err != nil || !strings.Contains(s.What, "4 row(s)") {
		t.Fatalf("%+v, %v", s, err)
	}
	f.apply(&s.Plan, nil)
	b, err := f.Running(t.Context())
	if err != nil || b.ID != s.ID || b.PerSecond != 7 || b.By != "ann" || number(b.To) != 4 {
		t.Errorf("%+v, %v", b, err)
	}
	f.logged("backfill_begun", "count=4")
	_, err = f.Backfill(t.Context(), &Rows{From: "beginning"})
	refused(t, err, "stop it first")
	f.apply(f.StopBackfill(t.Context()))
	f.logged("backfill_stopped", "of=4")
	if r, err := f.Watch(t.Context(), s.ID); err != nil || !strings.Contains(r.Text, "has ended") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestBackfillOvertakesNothing: what the poller has not come to, it delivers by itself, in order. A range ends before
// that.
func TestBackfillOvertakesNothing(t *testing.T) {
	for to, want := range map[string]int{"latest": 5, "": 5, "cursor=8": 5, "cursor=5": 5, "cursor=3": 3} {
		s, err := newFixture(t).Backfill(t.Context(), &Rows{From: "cursor=1", To: to})
		if err != nil || !strings.Contains(s.What, fmt.Sprintf("%d row(s) after %s and up to %s ", want-1, at(1), at(want))) {
			t.Errorf("--to %q: %+v, %v", to, s, err)
		}
	}
	_, err := newFixture(t).Backfill(t.Context(), &Rows{From: "cursor=6", To: "cursor=8"})
	nothingToDo(t, err, "that the poller has come to")
}

// TestBackfillOfAPausedPoller: it is asked for, and nothing is sent. Of a pause that ends by itself nothing is said.
func TestBackfillOfAPausedPoller(t *testing.T) {
	f := newFixture(t)
	for by, want := range map[string]bool{"bob": true, "bob" + forReplay: false} {
		f.pausedBy(&state.Paused{At: time.Now(), By: by})
		s, err := f.Backfill(t.Context(), &Rows{From: "beginning"})
		if err != nil || strings.Contains(s.What, "rowrelay state resume orders") != want {
			t.Errorf("%s: %+v, %v", by, s, err)
		}
	}
}

// TestBackfillSendsOldRowsLast: of an order key with several rows, as every change of a history is one, old ones come
// after those that the poller has delivered meanwhile. The plan says so, and what keeps the order.
func TestBackfillSendsOldRowsLast(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		f := newFixture(t)
		f.table.now.Coarse = coarse
		s, err := f.Backfill(t.Context(), &Rows{From: "beginning"})
		if err != nil || strings.Contains(s.What, "come after newer ones") != coarse ||
			strings.Contains(s.What, "rowrelay state reset orders --to beginning") != coarse {
			t.Errorf("coarse %t: %+v, %v", coarse, s, err)
		}
	}
}

func TestBackfillOfNoRows(t *testing.T) {
	f := newFixture(t)
	_, err := f.Backfill(t.Context(), &Rows{From: "cursor=10"})
	nothingToDo(t, err, "the range holds no rows")
	if _, err := f.Backfill(t.Context(), &Rows{From: "cursor=1", Rate: -1}); err == nil ||
		!strings.Contains(err.Error(), "--rate") {
		t.Error(err)
	}
}

// relay answers a named backfill's ticks.
type relay []poller.Report

func (r *relay) Tick(context.Context) poller.Report {
	first := (*r)[0]
	*r = (*r)[1:]
	return first
}

func TestNamedBackfillGoesOn(t *testing.T) {
	f := newFixture(t)
	named := f.document(f.Store, "named")
	start := func(rows Rows, ticks ...poller.Report) (Result, error) {
		d := f.document(f.Store, "orders")
		p, err := d.NamedBackfill(t.Context(),
			&Named{Rows: rows, Name: "history", Open: func(src checkpointed.Source) (*Sender, error) {
				from, _, err := src.Start(t.Context())
				if err == nil && number(from) != 0 {
					err = errors.New("the part begins elsewhere")
				}
				if d, _ := src.Describe(t.Context()); d.Late != late.None {
					err = errors.New("the part remembers late commits")
				}
				return &Sender{Relay: (*relay)(&ticks), Keeper: named.Keeper, Key: named.Key}, err
			}})
		if err != nil {
			return Result{}, err
		}
		return p.Apply(t.Context())
	}
	whole := Rows{From: "beginning", To: "cursor=4"}
	broken := poller.Report{Event: poller.HandlerFailed, Err: errors.New("no receiver")}
	if _, err := start(whole, poller.Report{Event: poller.TickComplete, Rows: 2}, broken); err == nil ||
		!strings.Contains(err.Error(), "start it again") {
		t.Errorf("a broken one: %v", err)
	}
	if _, err := start(Rows{From: "cursor=1"}); err == nil ||
		!strings.Contains(err.Error(), "for another range give another --name") {
		t.Errorf("another range: %v", err)
	}
	given := poller.Report{Event: poller.TickComplete, Rows: 4, DeadLettered: make([]poller.DeadLetter, 1)}
	r, err := start(Rows{}, given, poller.Report{Event: poller.FetchEmpty})
	if err != nil || !strings.Contains(r.Text,
		"done: 4 row(s), of which 1 were given up: rowrelay deadletter list orders --output backfill-history") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := (Ranges{f.Store, "shop", "orders"}).OutputOf(t.Context(), "other"); err == nil ||
		errors.Is(err, state.ErrConflict) {
		t.Errorf("one that was never begun: %v", err)
	}
}
