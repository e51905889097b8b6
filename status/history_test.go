package status

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/poller"
)

// TestHistory: ticks of two minutes are one step, what is older than an hour is forgotten, and a stretch in which
// nothing happened has no step.
func TestHistory(t *testing.T) {
	begin := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	at := func(minutes float64) time.Time { return begin.Add(time.Duration(minutes * float64(time.Minute))) }
	var n Note
	tick := func(minutes float64, r poller.Report) {
		r.Started, r.Ended = at(minutes), at(minutes)
		if r.Event == "" {
			r.Event = poller.TickComplete
		}
		next, tells := n.after(&r, "", "web-1")
		if !tells {
			t.Fatal("a tick tells nothing")
		}
		n = next
	}
	tick(0, poller.Report{Delivered: 3, DrainedAt: at(0)})
	before := n
	tick(1, poller.Report{Delivered: 4, DrainedAt: at(1)})
	if before.History[0].Rows != 3 {
		t.Errorf("a note was changed: %+v", before.History)
	}
	tick(2.5, poller.Report{Event: poller.FetchEmpty, DrainedAt: at(2.5)})
	tick(5, poller.Report{Event: poller.HandlerFailed, Err: errors.New("503"), RowsWait: true, Rows: 2, Rejected: 2})
	tick(7, poller.Report{Event: poller.HandlerFailed, Err: errors.New("503"), RowsWait: true})
	tick(9, poller.Report{Delivered: 9, DrainedAt: at(9)})
	want := []Step{{At: at(0), Rows: 7}, {At: at(4), Failed: 3}, {At: at(6), Failed: 1, Waiting: 120},
		{At: at(8), Rows: 9}}
	if diff := cmp.Diff(want, n.History); diff != "" {
		t.Error(diff)
	}

	// Another instance goes on, and knows of a part of it only.
	other := Note{At: at(9.5), History: []Step{{At: at(2), Rows: 1}, {At: at(8), Rows: 4, Failed: 1}}}
	joined := join(&n, &other)
	want = []Step{{At: at(0), Rows: 7}, {At: at(2), Rows: 1}, {At: at(4), Failed: 3}, {At: at(6), Failed: 1, Waiting: 120},
		{At: at(8), Rows: 9, Failed: 1}}
	if diff := cmp.Diff(want, joined.History); diff != "" {
		t.Error(diff)
	}
	tick(61, poller.Report{Delivered: 1, DrainedAt: at(61)})
	tick(64, poller.Report{Delivered: 2, DrainedAt: at(64)})
	want = []Step{{At: at(6), Failed: 1, Waiting: 120}, {At: at(8), Rows: 9}, {At: at(60), Rows: 1}, {At: at(64), Rows: 2}}
	if diff := cmp.Diff(want, n.History); diff != "" {
		t.Error(diff)
	}
	// What a clock that runs ahead has noted is not believed.
	ahead := Note{At: at(64), History: []Step{{At: at(70), Rows: 1}, {At: at(64), Rows: 2}}}.fit(at(64))
	if len(ahead.History) != 1 {
		t.Errorf("%+v", ahead.History)
	}
}

// TestRate: it is of the last minutes, not of one tick, and ends with what was delivered.
func TestRate(t *testing.T) {
	begin := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	n := Note{History: []Step{{At: begin.Add(-time.Hour), Rows: 9e6}, {At: begin, Rows: 300},
		{At: begin.Add(HistoryStep), Failed: 9}}}
	for after, want := range map[time.Duration]float64{time.Second: 5, 2 * time.Minute: 2.5, 5 * time.Minute: 1,
		6 * time.Minute: 0, time.Hour: 0} {
		n.At = begin.Add(after)
		if got := *n.rate(n.At); got != want {
			t.Errorf("%s after 300 rows: %g a second, want %g", after, got, want)
		}
	}
	// A process that was killed leaves its last note for ever.
	n.At = begin.Add(time.Second)
	for since, want := range map[time.Duration]float64{time.Minute: 5, 2 * time.Minute: 300. / 121, 6 * time.Minute: 0} {
		if got := *n.rate(n.At.Add(since)); got != want {
			t.Errorf("%s after the last note: %g a second, want %g", since, got, want)
		}
	}
}
