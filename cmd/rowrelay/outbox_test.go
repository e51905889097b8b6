package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// fakeOutbox is an outbox in memory.
type fakeOutbox struct {
	publisher.Operator // what is not needed here
	events             []event.Entry
	about              publisher.About
	err                error
	chunk              int
	stop               func() // called after a chunk
	filters            []event.Filter
	by                 string
}

func (o *fakeOutbox) About(context.Context) (publisher.About, error) { return o.about, o.err }

func (o *fakeOutbox) chosen(f event.Filter) []int {
	o.filters = append(o.filters, f)
	var at []int
	for i := range o.events {
		e := &o.events[i]
		if (len(f.States) == 0 || slices.Contains(f.States, e.State)) &&
			(len(f.IDs)+len(f.Keys) == 0 || slices.Contains(f.IDs, e.ID) || slices.Contains(f.Keys, e.IdempotencyKey)) &&
			(f.EventType == "" || f.EventType == e.EventType) && (f.Limit == 0 || len(at) < f.Limit) {
			at = append(at, i)
		}
	}
	return at
}

func (o *fakeOutbox) Count(_ context.Context, f event.Filter) (int64, error) {
	return int64(len(o.chosen(f))), o.err
}

func (o *fakeOutbox) List(_ context.Context, f event.Filter, each func(event.Entry) error) error {
	for _, i := range o.chosen(f) {
		if err := each(o.events[i]); err != nil {
			return err
		}
	}
	return o.err
}

func (o *fakeOutbox) move(ctx context.Context, f event.Filter, to event.State, progress func(int64)) (int64,
	error) {
	n := int64(0)
	for _, i := range o.chosen(f) {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		o.events[i].State = to
		n++
		progress(n)
		if o.stop != nil && n == int64(o.chunk) {
			o.stop()
		}
	}
	return n, nil
}

func (o *fakeOutbox) Requeue(ctx context.Context, f event.Filter, progress func(int64)) (int64, error) {
	return o.move(ctx, f, event.Pending, progress)
}

func (o *fakeOutbox) Discard(ctx context.Context, f event.Filter, by string, progress func(int64)) (int64, error) {
	o.by = by
	return o.move(ctx, f, event.Discarded, progress)
}

func (o *fakeOutbox) Pause(_ context.Context, by string) error {
	o.about.Paused, o.by = "by "+by, by
	return nil
}

func (o *fakeOutbox) Resume(context.Context) error { o.about.Paused = ""; return nil }

func (o *fakeOutbox) Cleanup(ctx context.Context, progress func(int64)) (publisher.Cleaned, error) {
	did := publisher.Cleaned{}
	for i := 0; i < 4 && ctx.Err() == nil; i++ {
		did.Rows, did.Chunks = did.Rows+10, did.Chunks+1
		progress(did.Rows)
		if o.stop != nil && i == 1 {
			o.stop()
		}
	}
	did.More = ctx.Err() != nil
	return did, o.err
}

func (o *fakeOutbox) Writable(context.Context) error { return nil }

func (o *fakeOutbox) CountCleanable(context.Context) (int64, error) { return 40, o.err }

// some are events in every state, two of them dead.
func some() []event.Entry {
	at := time.Date(2026, 4, 7, 1, 2, 3, 0, time.UTC)
	var list []event.Entry
	for i, s := range []event.State{event.Dead, event.Waiting, event.Published, event.Failed,
		event.Pending, event.Dead} {
		id := string(rune('1' + i))
		list = append(list, event.Entry{
			ID: id, AggregateType: "Order", AggregateID: "4711", EventType: "OrderPlaced", IdempotencyKey: "k" + id, State: s,
			CreatedAt: at,
			Attempts:  5, LastError: "the receiver\nanswered 422",
		})
	}
	return list
}

// outboxOf is the fake in the hands of somebody at a console, and what is written there.
func outboxOf(o *fakeOutbox, answers string) (d *managedOutbox, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	c := &console{in: strings.NewReader(answers), out: out, err: errs}
	p := &config.Poller{Name: "orders",
		Source: config.Source{Mode: "outbox", Table: "outbox", ClaimsTable: "rowrelay_claims", Retention: 168 * time.Hour,
			CleanupChunk: 10}}
	outbox := &admin.Outbox{Poller: p.Name, Events: o, By: operator(), Log: newLogger(c, &config.App{})}
	return &managedOutbox{target: &target{console: c}, Outbox: outbox, poller: p, close: func() error { return nil }}, out,
		errs
}

func (o *fakeOutbox) states() string {
	var list []string
	for i := range o.events {
		list = append(list, string(o.events[i].State))
	}
	return strings.Join(list, ",")
}

const untouched = "DEAD LETTER,WAITING,PUBLISHED,FAILED,PENDING,DEAD LETTER"

func TestRequeueAsksAndCounts(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		f      choiceOfEvents
		dry    bool
		yes    bool
		states string
		err    string
		says   []string
	}{
		"agreed": {answer: "orders\n", states: "PENDING,WAITING,PUBLISHED,FAILED,PENDING,PENDING",
			says: []string{"2 event(s) will be published again", "done: 2", "the receiver answered 422"}},
		"yes":        {yes: true, states: "PENDING,WAITING,PUBLISHED,FAILED,PENDING,PENDING", says: []string{"done: 2"}},
		"not agreed": {answer: "no\n", states: untouched, err: "not confirmed"},
		"no answer":  {states: untouched, err: "not confirmed"},
		"dry run":    {dry: true, states: untouched, says: []string{"dry run: nothing was changed"}},
		"failed too": {f: choiceOfEvents{states: []string{"failed", "DEAD LETTER"}}, yes: true,
			states: "PENDING,WAITING,PUBLISHED,PENDING,PENDING,PENDING", says: []string{"done: 3"}},
		"one": {f: choiceOfEvents{ids: []string{"6"}}, yes: true,
			states: "DEAD LETTER,WAITING,PUBLISHED,FAILED,PENDING,PENDING", says: []string{"done: 1"}},
		"none": {f: choiceOfEvents{eventType: "x"}, yes: true, states: untouched,
			says: []string{"there are no such events"}},
		"at most one": {f: choiceOfEvents{limit: 1}, yes: true,
			states: "PENDING,WAITING,PUBLISHED,FAILED,PENDING,DEAD LETTER", says: []string{"1 event(s)", "done: 1"}},
		"published ones": {f: choiceOfEvents{states: []string{"published"}}, yes: true, states: untouched,
			err: "only delayed, failed, dead"},
		"no state": {f: choiceOfEvents{states: []string{"lost"}}, yes: true, states: untouched,
			err: "pending, delayed, published"},
		"no such time": {f: choiceOfEvents{olderThan: 2 * time.Hour, youngerThan: time.Hour}, yes: true, states: untouched,
			err: "no event is older than"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &fakeOutbox{events: some()}
			d, out, errs := outboxOf(o, c.answer)
			d.dryRun, d.yes = c.dry, c.yes
			err := d.requeue(t.Context(), &c.f)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if got := o.states(); got != c.states {
				t.Errorf("states %s, want %s", got, c.states)
			}
			for _, text := range c.says {
				if !strings.Contains(out.String(), text) {
					t.Errorf("lacks %q:\n%s", text, out)
				}
			}
			if changed := c.states != untouched; changed != strings.Contains(errs.String()+out.String(),
				`"event":"outbox_requeued"`) {
				t.Errorf("changed %t, and the log says %s", changed, errs)
			}
		})
	}
}

func TestDiscardSaysThatItIsForEverAndByWhom(t *testing.T) {
	o := &fakeOutbox{events: some()}
	d, out, _ := outboxOf(o, "orders\n")
	if err := d.discard(t.Context(), &choiceOfEvents{states: []string{"dead", "waiting"}}); err != nil {
		t.Fatal(err)
	}
	if got := o.states(); got != "DISCARDED,DISCARDED,PUBLISHED,FAILED,PENDING,DISCARDED" || o.by != operator() {
		t.Errorf("states %s, by %q", got, o.by)
	}
	if !strings.Contains(out.String(), "NEVER") {
		t.Errorf("said %s", out)
	}
}

// Ctrl-C between chunks fails, and the command says how to go on.
func TestStopBetweenChunks(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	o := &fakeOutbox{events: some(), stop: stop, chunk: 1}
	d, out, _ := outboxOf(o, "")
	d.yes = true
	if err := d.requeue(ctx, &choiceOfEvents{}); !isQuiet(err) ||
		!strings.Contains(out.String(), "stopped: 1 of 2 events were changed; the same command goes on") {
		t.Errorf("%v\n%s", err, out)
	}
	ctx, stop = context.WithCancel(t.Context())
	o = &fakeOutbox{stop: stop}
	d, out, _ = outboxOf(o, "")
	if err := d.cleanup(ctx); !isQuiet(err) ||
		!strings.Contains(out.String(), "stopped: 20 event(s) were deleted; the same command goes on") {
		t.Errorf("%v\n%s", err, out)
	}
	ctx, stop = context.WithCancel(t.Context())
	o = &fakeOutbox{events: some(), stop: stop, chunk: 1}
	d, out, _ = outboxOf(o, "")
	d.yes, d.json = true, true
	if err := d.discard(ctx, &choiceOfEvents{}); !isQuiet(err) ||
		!strings.HasPrefix(out.String(), `{"done":false,"result":"stopped: 1 of 2 events`) {
		t.Errorf("%v\n%s", err, out)
	}
	o = &fakeOutbox{}
	d, out, _ = outboxOf(o, "")
	if err := d.cleanup(t.Context()); err != nil ||
		!strings.Contains(out.String(), "done: 40 event(s) were deleted in 4 chunk(s)") {
		t.Errorf("%v\n%s", err, out)
	}
	o = &fakeOutbox{err: errors.New("the disk is full")}
	d, _, _ = outboxOf(o, "")
	if err := d.cleanup(t.Context()); err == nil || !strings.Contains(err.Error(), "after 40 events: the disk is full") {
		t.Errorf("%v", err)
	}
}

func TestOutboxListShowsWhatNeedsAttention(t *testing.T) {
	o := &fakeOutbox{events: some()}
	d, out, _ := outboxOf(o, "")
	if err := d.list(t.Context(), &choiceOfEvents{limit: listed}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 5 || !strings.Contains(out.String(), "4 event(s)") {
		t.Errorf("%d lines:\n%s", n, out)
	}
	d, out, _ = outboxOf(o, "")
	d.json = true
	if err := d.list(t.Context(), &choiceOfEvents{limit: 1, states: []string{"dead"}}); err != nil {
		t.Fatal(err)
	}
	var e event.Entry
	if err := json.Unmarshal(out.Bytes(), &e); err != nil || e.ID != "1" || e.State != event.Dead {
		t.Errorf("%v: %s", err, out)
	}
}

func TestOutboxStatus(t *testing.T) {
	o := &fakeOutbox{about: publisher.About{
		Layout: "own", Strategy: claims.Partitioned, Partitions: 64, Paused: "by anna@desk since 2026-04-07T01:02:03Z",
		Owners: []claims.Owner{{Name: "shop/host-1", Token: 7, Units: 32, Expires: 29 * time.Second}},
		Figures: poller.OutboxFigures{Pending: 1000, Failed: 1, Waiting: 3, Dead: 2, Bound: 1000,
			OldestPending: 90 * time.Second},
	}}
	d, out, _ := outboxOf(o, "")
	if err := d.status(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"own columns", "64 partitions in force", "by anna@desk", "at least 1000",
		"1m30s is the age", "shop/host-1: 32 unit(s), token 7, until 29s"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("lacks %q:\n%s", text, out)
		}
	}
	d, out, _ = outboxOf(o, "")
	d.json = true
	if err := d.status(t.Context()); err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(out.Bytes(), &v); err != nil || v["dead"] != 2.0 || v["oldest_pending_seconds"] != 90.0 ||
		v["counted_to"] != 1000.0 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestOutboxWithoutTimes: a mapped table need not say when its events were written.
func TestOutboxWithoutTimes(t *testing.T) {
	o := &fakeOutbox{events: []event.Entry{{ID: "1", State: event.Pending}},
		about: publisher.About{Layout: "mapped", Figures: poller.OutboxFigures{Pending: 2}}}
	d, out, _ := outboxOf(o, "")
	if err := d.status(t.Context()); err != nil || strings.Contains(out.String(), "no event is pending") {
		t.Errorf("%v\n%s", err, out)
	}
	d, out, _ = outboxOf(o, "")
	if err := d.list(t.Context(), &choiceOfEvents{states: []string{"pending"}}); err != nil ||
		!strings.HasPrefix(out.String(), "- ") {
		t.Errorf("%v\n%s", err, out)
	}
	d, out, _ = outboxOf(o, "")
	d.json = true
	if err := d.list(t.Context(), &choiceOfEvents{states: []string{"pending"}}); err != nil ||
		strings.Contains(out.String(), "created_at") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPauseAndResume(t *testing.T) {
	o := &fakeOutbox{}
	for _, step := range []struct {
		do   func(*managedOutbox) error
		says string
	}{
		{func(d *managedOutbox) error { return d.carryOutOn(t.Context(), admin.Controls.Resume) }, "is not paused"},
		{func(d *managedOutbox) error { return d.carryOutOn(t.Context(), admin.Controls.Pause) }, "paused"},
		{func(d *managedOutbox) error { return d.carryOutOn(t.Context(), admin.Controls.Pause) }, "is paused already: by "},
		{func(d *managedOutbox) error { return d.carryOutOn(t.Context(), admin.Controls.Resume) }, "resumed"},
	} {
		d, out, _ := outboxOf(o, "orders\n")
		if err := step.do(d); err != nil || !strings.Contains(out.String(), step.says) {
			t.Errorf("%v, want %q:\n%s", err, step.says, out)
		}
	}
}

// A tick that polls and ended because its time was over is followed at once; every other waits for the schedule.
func TestWhenTheNextTickBeginsAtOnce(t *testing.T) {
	p := &config.Poller{PollInterval: 100 * time.Millisecond, TickBudget: 50 * time.Second}
	now := time.Now()
	report := func(event poller.Event, took time.Duration) poller.Report {
		return poller.Report{Event: event, Started: now, Ended: now.Add(took)}
	}
	for name, c := range map[string]struct {
		interval time.Duration
		reports  []poller.Report
		want     bool
	}{
		"at its budget":         {p.PollInterval, []poller.Report{report(poller.TickComplete, 50*time.Second)}, true},
		"idle until its budget": {p.PollInterval, []poller.Report{report(poller.FetchEmpty, 51*time.Second)}, true},
		"no polling":            {0, []poller.Report{report(poller.TickComplete, 50*time.Second)}, false},
		"max_batches":           {p.PollInterval, []poller.Report{report(poller.TickComplete, time.Second)}, false},
		"failed at its budget":  {p.PollInterval, []poller.Report{report(poller.HandlerFailed, 50*time.Second)}, false},
		"held by another":       {p.PollInterval, []poller.Report{report(poller.LeaseAcquireSkipped, 0)}, false},
		"one failed, one polled": {p.PollInterval,
			[]poller.Report{report(poller.HandlerFailed, 0), report(poller.FetchEmpty, 50*time.Second)}, true},
		"nothing ran": {p.PollInterval, nil, false},
	} {
		q := *p
		q.PollInterval = c.interval
		if got := endedAtBudget(&q, c.reports); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestStatementsAreNamedForProgress(t *testing.T) {
	for statement, want := range map[string]string{
		"CREATE TABLE IF NOT EXISTS outbox (\n seq bigint\n)": "CREATE TABLE IF NOT EXISTS outbox",
		"CREATE INDEX x ON y (z)":                             "CREATE INDEX x ON y",
		strings.Repeat("é", 200):                              strings.Repeat("é", 90) + "…",
	} {
		if got := firstWords(statement); got != want {
			t.Errorf("%q: %q, want %q", statement, got, want)
		}
	}
}
