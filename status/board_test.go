package status

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

func partOf(read func(context.Context) (func(*Output), error)) []Part {
	return []Part{{What: "the state document", Main: true, Read: read}}
}

// TestADeadStoreHangsNothing: an output whose store does not answer is told of after the bound, the others are whole,
// and the read that hangs is not begun again beside itself.
func TestADeadStoreHangsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		release := make(chan struct{})
		b := newBoard(BoardConfig{App: "shop", Bound: 5 * time.Second, Outputs: []Subject{
			// it does not even look at its context
			{Base: Output{Poller: "dead"}, Parts: partOf(func(context.Context) (func(*Output), error) {
				asked.Add(1)
				<-release
				return nil, errors.New("too late")
			})},
			{Base: Output{Poller: "well"},
				Parts: partOf(func(context.Context) (func(*Output), error) { return func(o *Output) { o.Token = 7 }, nil })},
		}})
		begun := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				r := b.Report(t.Context())
				if dead := r.Outputs[0]; dead.Health != Failing || len(dead.Problems) != 1 ||
					dead.Problems[0].Text != "the state document could not be read: there was no answer within 5s" {
					t.Errorf("%+v", dead)
				}
				if well := r.Outputs[1]; well.Health != Unknown || well.Token != 7 {
					t.Errorf("%+v", well)
				}
			})
		}
		wg.Wait()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
		b.Report(t.Context())
		if n := asked.Load(); n != 1 {
			t.Errorf("the dead store was asked %d times", n)
		}
		close(release)
		synctest.Wait()
		pass(failedEvery) // for so long it is left in peace
		b.Report(t.Context())
		if n := asked.Load(); n != 2 {
			t.Errorf("the store that answers again was asked %d times", n)
		}
	})
}

// TestAHungReadIsNotMultiplied: each action makes what is read be read anew, and where reads hang, no third is begun
// beside two.
func TestAHungReadIsNotMultiplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		release := make(chan struct{})
		b := newBoard(BoardConfig{Bound: time.Second, Outputs: []Subject{{Base: Output{Poller: "orders"},
			Parts: partOf(func(context.Context) (func(*Output), error) {
				asked.Add(1)
				<-release
				return func(*Output) {}, nil
			})}}})
		for range 5 {
			if o := b.Report(t.Context()).Outputs[0]; o.Health != Failing {
				t.Errorf("%+v", o)
			}
			b.Forget("orders")
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("%d reads hang", n)
		}
		close(release)
		synctest.Wait()
		if o := b.Report(t.Context()).Outputs[0]; o.Health != Unknown {
			t.Errorf("after they have ended: %+v", o)
		}
	})
}

// TestSuccessIsNotInvented: what a document's checkpoint was written at is no success; failed ticks commit too, and so
// does its creation.
func TestSuccessIsNotInvented(t *testing.T) {
	at := noon
	report := func(put func(*Output), observe ...*poller.Report) Output {
		seen := NewRecorder(RecorderConfig{App: "shop", Instance: "one"})
		for _, r := range observe {
			seen.Observe(r, "")
		}
		b := newBoard(BoardConfig{Bound: time.Second, Seen: seen, Outputs: []Subject{
			{Base: Output{Poller: "orders"}, Parts: partOf(func(context.Context) (func(*Output), error) { return put, nil })}}})
		return b.Report(t.Context()).Outputs[0]
	}
	created := func(o *Output) { o.CommittedAt, o.Untouched = &at, true }
	if o := report(created); o.Health != New || o.LastSuccess != nil || o.CommittedAt == nil {
		t.Errorf("a document that was only created: %+v", o)
	}
	if o := report(created, tick(poller.HandlerFailed, 0)); o.Health != Failing || o.LastSuccess != nil {
		t.Errorf("a poller that never delivered: %+v", o)
	}
	if o := report(created, tick(poller.FetchEmpty, 0)); o.Health != Healthy || o.LastSuccess == nil {
		t.Errorf("nothing to deliver: %+v", o)
	}
	if o := report(func(o *Output) { o.CommittedAt = &at }); o.Health != Unknown || o.LastSuccess != nil {
		t.Errorf("without a note: %+v", o)
	}
}

// TestAnswersAreNotShown: what a receiver answers may echo a row; it stands neither in the report nor in the note.
func TestAnswersAreNotShown(t *testing.T) {
	store := memstore.New()
	failed := tick(poller.HandlerFailed, 0)
	failed.Err = errors.New("delivering: http://shop answered 422 Unprocessable Entity: " +
		poller.QuoteAnswer("row 4711") + ", next in 5s")
	seen := NewRecorder(RecorderConfig{App: "shop", Instance: "one", Store: store})
	seen.Observe(failed, "")
	seen.Close()
	letters := []Letter{{ID: "1", Reason: failed.Err.Error()}}
	b := newBoard(BoardConfig{App: "shop", Store: store, Bound: time.Second,
		Outputs: []Subject{{Base: Output{Poller: "orders"},
			Parts: partOf(func(context.Context) (func(*Output), error) {
				return func(o *Output) { o.Letters, o.Entries = letters, letters }, nil
			})}}})
	data, err := json.Marshal(b.Report(t.Context()))
	if text := string(data); err != nil || strings.Contains(text, "4711") ||
		strings.Count(text, "http://shop answered 422 Unprocessable Entity: «…», next in 5s") < 4 {
		t.Errorf("%v: %s", err, text)
	}
	note, err := store.Load(t.Context(), NoteKey("shop", "orders", ""))
	if err != nil || strings.Contains(string(note.Data), "4711") {
		t.Errorf("%v: %s", err, note.Data)
	}
	if !strings.Contains(letters[0].Reason, "4711") {
		t.Error("what others look at was changed")
	}
}

func TestFiguresAreSharedForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		parts := partOf(func(context.Context) (func(*Output), error) {
			asked++
			n := uint64(asked)
			return func(o *Output) { o.Token = n }, nil
		})
		parts[0].Every = 3 * time.Second
		b := newBoard(BoardConfig{Bound: time.Second, Outputs: []Subject{{Base: Output{Poller: "orders"}, Parts: parts}}})
		for i, want := range []uint64{1, 1, 1, 2, 2} { // at 0, 1, 2, 3, 4 s
			if got := b.Report(t.Context()).Outputs[0].Token; got != want {
				t.Errorf("after %d s: %d, want %d", i, got, want)
			}
			time.Sleep(time.Second)
		}
		b.Forget("others")
		if got := b.Report(t.Context()).Outputs[0].Token; got != 2 {
			t.Errorf("what was done to another poller: %d", got)
		}
		b.Forget("orders")
		if got := b.Report(t.Context()).Outputs[0].Token; got != 3 {
			t.Errorf("after something was done to it: %d", got)
		}
	})
}

// TestReportIsWhole: what cannot be read is said, and nothing panics or is null in JSON.
func TestReportIsWhole(t *testing.T) {
	store := memstore.New()
	if _, err := store.Create(t.Context(), NoteKey("shop", "paid", ""), []byte("not a note")); err != nil {
		t.Fatal(err)
	}
	seen := NewRecorder(RecorderConfig{App: "shop", Instance: "one"})
	failing := tick(poller.FetchFailed, 0)
	failing.Poller = "failing"
	seen.Observe(failing, "mend it")
	b := newBoard(BoardConfig{App: "shop", Version: "v1", Instance: "one", Bound: time.Second, Store: store, Seen: seen,
		Outputs: []Subject{
			{Base: Output{Poller: "absent"},
				Parts: partOf(func(context.Context) (func(*Output), error) { return nil, state.ErrNotFound })},
			{Base: Output{Poller: "panics"}, Parts: partOf(func(context.Context) (func(*Output), error) { panic("a bug") })},
			{Base: Output{Poller: "faulty"}, Faults: []Problem{{Text: "schedule: nonsense", Mend: "write another"}}},
			{Base: Output{Poller: "paid"}, Parts: []Part{
				{What: "the state document", Main: true, Read: func(context.Context) (func(*Output), error) {
					return func(*Output) {}, nil
				}},
				{What: "the dead letters", Read: func(context.Context) (func(*Output), error) { return nil, errors.New("denied") }},
			}, Next: func(now time.Time) (time.Time, bool) { return now.Add(time.Minute), true }},
			{Base: Output{Poller: "failing"},
				Parts: partOf(func(context.Context) (func(*Output), error) { return func(*Output) {}, nil })},
		}})
	r := b.Report(t.Context())
	for i, want := range []Health{New, Failing, Failing, Unknown, Failing} {
		if o := &r.Outputs[i]; o.Health != want || o.Says == "" {
			t.Errorf("%s is %s: %s; want %s", o.Poller, o.Health, o.Says, want)
		}
	}
	if got := r.Outputs[3]; len(got.Problems) != 2 ||
		got.Problems[0].Text != "the dead letters could not be read: denied" || got.NextRun == nil ||
		!strings.HasPrefix(got.Problems[1].Text, "the note of its last tick could not be read: it is damaged") {
		t.Errorf("%+v", got)
	}
	if e := r.Outputs[4].LastError; e == nil || e.Mend != "mend it" || e.Event != "fetch_failed" {
		t.Errorf("%+v", e)
	}
	data, err := json.Marshal(r)
	if err != nil || strings.Contains(string(data), "null") {
		t.Errorf("%v: %s", err, data)
	}
}
