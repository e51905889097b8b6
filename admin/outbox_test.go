package admin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// events is an outbox in memory.
type events struct {
	publisher.Operator // what is not needed here
	all                []event.Entry
	paused             string
	err                error // of changes, after one
}

func (o *events) About(context.Context) (publisher.About, error) {
	return publisher.About{Paused: o.paused, Owners: make([]claims.Owner, 2)}, nil
}

func (o *events) Pause(_ context.Context, by string) error { o.paused = "by " + by; return nil }

func (o *events) Resume(context.Context) error { o.paused = ""; return nil }

func (o *events) List(_ context.Context, f event.Filter, each func(event.Entry) error) error {
	n := 0
	for _, e := range o.all {
		if !slices.Contains(f.States, e.State) || len(f.IDs) > 0 && !slices.Contains(f.IDs, e.ID) ||
			f.Limit > 0 && n == f.Limit {
			continue
		}
		n++
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

func (o *events) Count(ctx context.Context, f event.Filter) (n int64, err error) {
	err = o.List(ctx, f, func(event.Entry) error { n++; return nil })
	return n, err
}

func (o *events) Requeue(ctx context.Context, f event.Filter, progress func(int64)) (int64, error) {
	n := int64(0)
	for i := range o.all {
		if slices.Contains(f.States, o.all[i].State) && (len(f.IDs) == 0 || slices.Contains(f.IDs, o.all[i].ID)) {
			o.all[i].State = event.Pending
			n++
			progress(n)
			if o.err != nil {
				return n, o.err
			}
		}
	}
	return n, nil
}

func newOutbox() (*Outbox, *events, *bytes.Buffer) {
	var log bytes.Buffer
	rows := &events{all: []event.Entry{
		{ID: "1", State: event.Dead}, {ID: "2", State: event.Waiting}, {ID: "3", State: event.Dead},
	}}
	return &Outbox{Poller: "events", Events: rows, By: "ann", Log: slog.New(slog.NewTextHandler(&log, nil))}, rows, &log
}

func dead(ids ...string) event.Filter {
	return event.Filter{States: []event.State{event.Dead}, IDs: ids}
}

func TestOutboxIsPausedAndResumed(t *testing.T) {
	o, rows, log := newOutbox()
	p, err := o.Pause(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := p.Apply(t.Context()); err != nil || r.Text != "paused; 2 instance(s) finish what is under way" ||
		rows.paused != "by ann" {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = o.Pause(t.Context())
	nothingToDo(t, err, "is paused already: by ann")
	if p, err = o.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Apply(t.Context()); err != nil || r.Text != "resumed" {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = o.Resume(t.Context())
	nothingToDo(t, err, "is not paused")
	if text := log.String(); !strings.Contains(text, "event=paused poller=events by=ann") ||
		!strings.Contains(text, "event=resumed") {
		t.Error(text)
	}
}

func TestRequeueSaysWhatIsMissing(t *testing.T) {
	o, rows, log := newOutbox()
	e, err := o.Requeue(t.Context(), dead("1", "9 9"))
	if err != nil || e.Total != 1 || len(e.First) != 1 || !strings.Contains(e.What, "; no such event has --id '9 9'.") {
		t.Fatalf("%+v, %v", e, err)
	}
	if rows.all[0].State != event.Dead {
		t.Error("the plan has changed it")
	}
	if r, err := e.Apply(t.Context()); err != nil || r.Text != "done: 1; no such event has --id '9 9'" {
		t.Errorf("%+v, %v", r, err)
	}
	if text := log.String(); !strings.Contains(text, "event=outbox_requeued") ||
		!strings.Contains(text, `filter="state=dead id=`) {
		t.Error(text)
	}
	_, err = o.Requeue(t.Context(), dead("1"))
	if r := new(Refusal); !errors.As(err, &r) || !r.Missing || err.Error() != "poller events has no such events; "+
		"no such event has --id 1: rowrelay outbox list events shows those that failed, wait or were given up" {
		t.Error(err)
	}
	_, err = o.Requeue(t.Context(), event.Filter{States: []event.State{event.Failed}})
	nothingToDo(t, err, "there are no such events: rowrelay outbox list events")
}

func TestRequeueThatIsStopped(t *testing.T) {
	o, rows, _ := newOutbox()
	e, err := o.Requeue(t.Context(), dead())
	if err != nil {
		t.Fatal(err)
	}
	rows.err = errors.New("no connection")
	if _, err := e.Apply(t.Context()); err == nil || err.Error() != "after 1 of 2 events: no connection" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Apply(ctx); !errors.As(err, new(*Stopped)) ||
		!strings.Contains(err.Error(), "the same command goes on") {
		t.Error(err)
	}
}

func TestReplayNowOfAnOutbox(t *testing.T) {
	o, rows, _ := newOutbox()
	if _, err := o.ReplayNow(t.Context(), []string{"3"}, nil, nil); err != nil || rows.all[2].State != event.Pending ||
		rows.all[0].State != event.Dead {
		t.Errorf("%+v, %v", rows.all, err)
	}
	_, err := o.ReplayNow(t.Context(), []string{"3"}, nil, nil)
	if r := new(Refusal); !errors.As(err, &r) || !r.Missing {
		t.Error(err)
	}
}

func TestIDsAreComparedAsDatabasesDo(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{{"7", "007", true}, {"AB-1", "ab-1", true}, {"7", " 7 ", true}, {"7", "70", false}, {"x", "y", false}} {
		if sameID(c.a, c.b) != c.same {
			t.Errorf("%q and %q: %t", c.a, c.b, !c.same)
		}
	}
}
