package status

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// source is a part that fails when it is told to.
type source struct {
	err   error
	value int64
	asked int
}

func (s *source) read(context.Context) (func(*Output), error) {
	s.asked++
	if s.err != nil {
		return nil, s.err
	}
	n := s.value
	return func(o *Output) { o.DeadLetters = n }, nil
}

// withLetters is a board of one output, whose dead letters are read from s.
func withLetters(s *source, store state.Store, every time.Duration) *Board {
	parts := append(partOf(func(context.Context) (func(*Output), error) { return func(*Output) {}, nil }),
		Part{What: "the dead letters", Every: every, Read: s.read})
	return newBoard(BoardConfig{App: "shop", Bound: time.Second, Store: store,
		Outputs: []Subject{{Base: Output{Poller: "orders"}, Parts: parts}}})
}

// TestWhatCouldNotBeReadIsNotHealthy: a number that is not known is no zero.
func TestWhatCouldNotBeReadIsNotHealthy(t *testing.T) {
	s := &source{err: errors.New("no answer within 5s")}
	o := withLetters(s, nil, 0).Report(t.Context()).Outputs[0]
	if o.Health != Unknown || !strings.Contains(o.Says, "the dead letters could not be read: no answer within 5s") {
		t.Errorf("%s: %s", o.Health, o.Says)
	}
	dead := &countedStore{Store: memstore.New(), err: errors.New("no way to the store")}
	o = withLetters(&source{}, dead, 0).Report(t.Context()).Outputs[0]
	if o.Health != Unknown || !strings.Contains(o.Says,
		"the note of its last tick could not be read: no way to the store") {
		t.Errorf("%s: %s", o.Health, o.Says)
	}
}

// TestAnUnreadDocumentLeadsToTheStore: also where a tick failed at something else before.
func TestAnUnreadDocumentLeadsToTheStore(t *testing.T) {
	seen := NewRecorder(RecorderConfig{App: "shop", Instance: "one"})
	failed := tick(poller.HandlerFailed, 0)
	failed.Poller = "orders"
	seen.Observe(failed, "mend the receiver")
	for want, c := range map[string]struct {
		mode mode.Mode
		err  error
	}{
		"the-state-store-fails":     {mode.Cursor, errors.New("no way there")},
		"the-source-cannot-be-read": {mode.Outbox, errors.New("no way there")},
		"a-setting-is-wrong":        {mode.Outbox, fmt.Errorf("%w: there is no table: create it", poller.ErrConfig)},
	} {
		o := newBoard(BoardConfig{App: "shop", Bound: time.Second, Seen: seen, Outputs: []Subject{{
			Base:  Output{Poller: "orders", Mode: c.mode},
			Parts: partOf(func(context.Context) (func(*Output), error) { return nil, c.err }),
		}}}).Report(t.Context()).Outputs[0]
		if o.Health != Failing || o.Runbook() != RunbookPage+want {
			t.Errorf("%s: %s leads to %s: %+v", o.Health, o.Says, o.Runbook(), o.Problems)
		}
		if errors.Is(c.err, poller.ErrConfig) {
			continue // its text says what to do
		}
		var text strings.Builder
		o.print(&printing.Printer{W: &text}, time.Now())
		if mend := strings.Index(text.String(), "check the "); mend < 0 || mend > strings.Index(text.String(), "last error") {
			t.Errorf("what to do does not stand beside what is said:\n%s", text.String())
		}
	}
}

// TestANewerBinarysNoteIsNotOverlooked: it may be of a failure. A tick that looks writes another over it, also an idle
// one.
func TestANewerBinarysNoteIsNotOverlooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		if _, err := store.Create(t.Context(), NoteKey("shop", "orders", ""),
			[]byte(`{"version":2,"failed":true}`)); err != nil {
			t.Fatal(err)
		}
		b := withLetters(&source{}, store, 0)
		if o := b.Report(t.Context()).Outputs[0]; o.Health != Unknown || !strings.Contains(o.Says, "it is of version 2") {
			t.Errorf("%s: %s", o.Health, o.Says)
		}
		p := newProcess(t, "one", store)
		defer p.Close()
		p.tick(poller.FetchEmpty, 0)
		pass(failedEvery)
		if o := b.Report(t.Context()).Outputs[0]; o.Health != Healthy {
			t.Errorf("%s: %s", o.Health, o.Says)
		}
	})
}

// TestWhatWasReadLastIsShown: a store that is gone for a moment takes no dead letters away; from when the figure is
// stands beside it.
func TestWhatWasReadLastIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{value: 7}
		b := withLetters(s, nil, 10*time.Second)
		b.Report(t.Context())
		at := stamp(time.Now())
		pass(10 * time.Second)
		s.err = errors.New("gone")
		o := b.Report(t.Context()).Outputs[0]
		if want := "the dead letters could not be read: gone; what is shown of it was read at " + at; o.Health != DeadLettered ||
			o.DeadLetters != 7 || len(o.Problems) != 1 || o.Problems[0].Text != want {
			t.Errorf("%s: %d dead letters, %+v; want %s", o.Health, o.DeadLetters, o.Problems, want)
		}
		s.value, s.err = 0, nil
		pass(10 * time.Second)
		if o := b.Report(t.Context()).Outputs[0]; o.Health != Unknown || o.DeadLetters != 0 {
			t.Errorf("%s: %d dead letters", o.Health, o.DeadLetters)
		}
		s.err = errors.New("gone again")
		pass(10 * time.Second)
		if o := b.Report(t.Context()).Outputs[0]; o.Health != Unknown {
			t.Errorf("none were there a while ago: %s", o.Health)
		}
	})
}

// TestAFailedReadIsNotRepeatedAtOnce: not by everybody who looks at a store that does not answer; but after something
// was done.
func TestAFailedReadIsNotRepeatedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: errors.New("denied")}
		b := withLetters(s, nil, 0)
		for range 5 {
			if o := b.Report(t.Context()).Outputs[0]; o.Health != Unknown {
				t.Errorf("%s", o.Health)
			}
			pass(failedEvery / 6)
		}
		if s.asked != 1 {
			t.Errorf("it was asked %d times", s.asked)
		}
		b.Forget("orders")
		b.Report(t.Context())
		if s.asked != 2 {
			t.Errorf("after something was done: asked %d times", s.asked)
		}
		pass(failedEvery)
		b.Report(t.Context())
		if s.asked != 3 {
			t.Errorf("after %s: asked %d times", failedEvery, s.asked)
		}
	})
}

// TestABugInAReportEndsNothing: where figures are put together, outside the reads.
func TestABugInAReportEndsNothing(t *testing.T) {
	well := partOf(func(context.Context) (func(*Output), error) { return func(*Output) {}, nil })
	b := newBoard(BoardConfig{Bound: time.Second, Outputs: []Subject{
		{Base: Output{Poller: "put"}, Parts: partOf(func(context.Context) (func(*Output), error) {
			return func(*Output) { panic("a bug") }, nil
		})},
		{Base: Output{Poller: "next"}, Parts: well, Next: func(time.Time) (time.Time, bool) { panic("a bug") }},
		{Base: Output{Poller: "well"}, Parts: well},
	}})
	r := b.Report(t.Context())
	for i, want := range []Health{Failing, Failing, Unknown} {
		o := &r.Outputs[i]
		if o.Health != want || (want == Failing) != strings.Contains(o.Says, "reporting panicked: a bug") ||
			o.Letters == nil || o.Entries == nil || o.Problems == nil {
			t.Errorf("%+v", o)
		}
	}
}

// TestANoteOutlivesItsPoller: one that was removed, and comes back under its name, has not failed.
func TestANoteOutlivesItsPoller(t *testing.T) {
	for name, c := range map[string]struct {
		age    time.Duration
		absent bool
		want   Health
	}{
		"another's of the name":          {90 * 24 * time.Hour, true, New},
		"its own, before it was created": {time.Hour, true, Failing},
		"its own, and long ago":          {90 * 24 * time.Hour, false, Failing},
	} {
		store := memstore.New()
		at := time.Now().Add(-c.age)
		n := Note{Version: noteVersion, Instance: "gone", At: at, Failed: true, Event: "fetch_failed",
			LastError: &Problem{At: &at, Text: "login denied"}}
		data, err := n.encode()
		if err == nil {
			_, err = store.Create(t.Context(), NoteKey("shop", "orders", ""), data)
		}
		if err != nil {
			t.Fatal(err)
		}
		b := newBoard(BoardConfig{App: "shop", Store: store, Bound: time.Second,
			Outputs: []Subject{{Base: Output{Poller: "orders"},
				Parts: partOf(func(context.Context) (func(*Output), error) {
					if c.absent {
						return nil, state.ErrNotFound
					}
					return func(*Output) {}, nil
				})}}})
		if o := b.Report(t.Context()).Outputs[0]; o.Health != c.want {
			t.Errorf("%s: %s: %s", name, o.Health, o.Says)
		}
	}
}
