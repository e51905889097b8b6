package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// onePoller is the only output of a board, whose document was committed at a time.
func onePoller(t *testing.T, store state.Store, seen *Recorder, committed time.Time) Output {
	t.Helper()
	b := newBoard(BoardConfig{App: "shop", Store: store, Seen: seen, Bound: time.Second, Outputs: []Subject{{
		Base: Output{Poller: "orders"}, Limit: 2 * time.Minute, Ticks: seen != nil,
		Next: func(now time.Time) (time.Time, bool) { return now.Add(time.Second), true },
		Parts: partOf(func(context.Context) (func(*Output), error) {
			return func(o *Output) { o.CommittedAt = &committed }, nil
		}),
	}}})
	return b.Report(t.Context()).Outputs[0]
}

// TestWhatWasLeftToDoMayGoByItself: a tick ends at its budget, the rest is deleted, and idle ticks follow: no other
// instance goes on to say that nobody does it, and the figures of the note have a time.
func TestWhatWasLeftToDoMayGoByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p := newProcess(t, "one", store)
		defer p.Close()
		committed := time.Now()
		p.Observe(&poller.Report{Poller: "orders", Event: poller.TickComplete, Rows: 100, Started: time.Now(),
			Ended: time.Now(), Lag: 90 * time.Second}, "")
		pass(time.Second)
		if n := stored(t, store); !n.More {
			t.Fatalf("%+v", n)
		}
		for range 60 {
			pass(10 * time.Second)
			p.tick(poller.FetchEmpty, 0)
		}
		p.want("the work, one look five minutes later at most, that nothing is left, and signs of life", p.store.reads, 2+9)
		o := onePoller(t, store, nil, committed)
		if o.Health != Healthy || o.LagSeconds == nil || *o.LagSeconds != 0 {
			t.Errorf("another instance shows %s: %s; %+v", o.Health, o.Says, o.LagSeconds)
		}
		if n := stored(t, store); o.NotedAt == nil || !o.NotedAt.Equal(n.At) {
			t.Errorf("noted at %v, want %s", o.NotedAt, n.At)
		}
	})
}

// lateClock is a store as a process sees it whose own clock is behind: the store's is ahead.
type lateClock struct {
	state.Store
	by time.Duration
}

func (s lateClock) Load(ctx context.Context, key string) (state.Stored, error) {
	found, err := s.Store.Load(ctx, key)
	found.Now = found.Now.Add(s.by)
	return found, err
}

func (s lateClock) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	stamp, err := s.Store.Create(ctx, key, data)
	stamp.Now = stamp.Now.Add(s.by)
	return stamp, err
}

func (s lateClock) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	stamp, err := s.Store.Replace(ctx, key, data, version)
	stamp.Now = stamp.Now.Add(s.by)
	return stamp, err
}

// TestClockThatLags: a process whose clock is behind by minutes fails, and another's success of before stands in
// the note, by a clock that is right. Its failure is seen, on its own page and on any other.
func TestClockThatLags(t *testing.T) {
	const by = 3 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		ahead(t, store, by-90*time.Second) // 90 s ago by a clock that is right
		seen := lateClock{store, by}
		r := NewRecorder(RecorderConfig{App: "shop", Instance: "late", Store: seen})
		defer r.Close()
		for _, event := range []poller.Event{poller.FetchEmpty, poller.FetchFailed} {
			report := &poller.Report{Poller: "orders", Event: event, Started: time.Now(), Ended: time.Now(), Drained: true}
			r.Observe(report, "mend it")
			pass(noteSoon)
		}
		for who, recorder := range map[string]*Recorder{"its own page": r, "another's": nil} {
			if o := onePoller(t, seen, recorder, time.Now()); o.Health != Failing {
				t.Errorf("%s: %s: %s", who, o.Health, o.Says)
			}
		}
		found, err := store.Load(t.Context(), NoteKey("shop", "orders", ""))
		if err != nil {
			t.Fatal(err)
		}
		n, err := decodeNote(found.Data)
		if off := n.At.Sub(time.Now().Add(by)); err != nil || !n.Failed || n.Instance != "late" || off.Abs() > time.Minute {
			t.Errorf("%v: %+v", err, n)
		}
	})
}

// life is what another instance reports of a poller whose process ticks every second for d, and is then killed: no
// clean-up runs.
func life(t *testing.T, silentAfter time.Duration, d time.Duration, event poller.Event) (*memstore.Store, *process) {
	t.Helper()
	store := memstore.New()
	p := newProcess(t, "one", store)
	p.cfg.SilentAfter = func(string) time.Duration { return silentAfter }
	for range int(d / time.Second) {
		pass(time.Second)
		p.tick(event, 0)
	}
	return store, p
}

// TestAKilledProcessIsSilent: an idle poller leaves a sign of life each minute; where it is overdue, another instance
// says since when, and before that nothing is wrong.
func TestAKilledProcessIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, p := life(t, 2*time.Minute, 10*time.Minute, poller.FetchEmpty)
		p.ending() // killed
		at := stored(t, store).At
		pass(time.Minute)
		if o := onePoller(t, store, nil, time.Now()); o.Health != Healthy || o.SilentSince != nil {
			t.Errorf("a minute later: %s: %s", o.Health, o.Says)
		}
		pass(time.Minute)
		if o := onePoller(t, store, nil, time.Now()); o.Health != Silent || !o.SilentSince.Equal(at) {
			t.Errorf("two minutes later: %s: %s", o.Health, o.Says)
		}
	})
}

// TestAKilledIdleProcessIsSilentSooner: an idle tick ends at once, so that more than a minute without a note says that
// none comes. A tick that takes its time holds the lease, or has committed since; a slow source may take as long again.
func TestAKilledIdleProcessIsSilentSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		store, p := life(t, 3*time.Minute, time.Second, poller.FetchEmpty)
		p.cfg.IdleAfter = func(string) time.Duration { return 72 * time.Second }
		for range 300 {
			pass(time.Second)
			p.tick(poller.FetchEmpty, 0)
			if o := onePoller(t, store, nil, began); o.Health != Healthy || o.LagSeconds == nil {
				t.Fatalf("while it lives: %s: %s", o.Health, o.Says)
			}
		}
		p.ending() // killed
		pass(75 * time.Second)
		if o := onePoller(t, store, nil, began); o.Health != Silent || o.LagSeconds != nil {
			t.Errorf("75 s later: %s: %s, lag %v", o.Health, o.Says, o.LagSeconds)
		}
	})
	n := Note{At: noon, SilentAfter: 180, IdleAfter: 72, Seconds: 4}
	committed := noon.Add(time.Second)
	for name, c := range map[string]struct {
		o       Output
		overdue time.Duration // since the note
	}{
		"idle": {Output{}, 80 * time.Second}, "free": {Output{Lease: &Lease{Holder: "a"}}, 80 * time.Second},
		"committed": {Output{CommittedAt: &committed}, 81 * time.Second},
		"at work":   {Output{Lease: &Lease{Held: true}}, 180 * time.Second},
		"not read":  {Output{Unread: true}, 180 * time.Second},
	} {
		if at := noon.Add(c.overdue); n.overdue(at, &c.o) || !n.overdue(at.Add(time.Second), &c.o) {
			t.Errorf("%s: not overdue after %s", name, c.overdue)
		}
	}
}

// TestAFullDiskIsSilent: notes cannot be written any more, whatever the ticks do.
func TestAFullDiskIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, p := life(t, 2*time.Minute, time.Minute, poller.FetchEmpty)
		defer p.Close()
		p.store.fail(errors.New("no space left on device"))
		for range 180 {
			pass(time.Second)
			p.tick(poller.CommitFailed, 0)
		}
		if o := onePoller(t, store, nil, time.Now()); o.Health != Silent {
			t.Errorf("another instance: %s: %s", o.Health, o.Says)
		}
		if o := onePoller(t, store, p.Recorder, time.Now()); o.Health != Failing {
			t.Errorf("its own page: %s: %s", o.Health, o.Says)
		}
	})
}

// TestOnceIsNeverSilent: when a scheduler of others starts the next run --once is not known. Beside a process that goes
// on, it does not end that one's expectation.
func TestOnceIsNeverSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, p := life(t, 0, time.Second, poller.FetchEmpty)
		p.Close()
		pass(24 * time.Hour)
		if o := onePoller(t, store, nil, time.Now()); o.Health != Healthy || o.NextRun != nil ||
			!strings.Contains(o.Says, "when the next tick is due is not known") {
			t.Errorf("%s: %s", o.Health, o.Says)
		}
		on := Note{At: noon, SilentAfter: 100}
		if n := (Note{At: noon.Add(99 * time.Second)}).with(&on); n.SilentAfter != 100 {
			t.Errorf("beside a process that goes on: %v", n.SilentAfter)
		}
		if n := (Note{At: noon.Add(101 * time.Second)}).with(&on); n.SilentAfter != 0 {
			t.Errorf("after its end: %v", n.SilentAfter)
		}
	})
}

// TestAnOrderlyStop: where the ticks end with their process, its end is said at once; where a host starts the next
// worker, and where a reload goes on with the ticks, it is none. Another process goes on: its next sign of
// life ends it, and its own page never says it.
func TestAnOrderlyStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, how := range []string{"alone", "under a host", "after a reload"} {
			store, p := life(t, 2*time.Minute, 10*time.Second, poller.FetchEmpty)
			p.cfg.Alone = how != "under a host"
			if how == "after a reload" {
				p.Followed()
			}
			pass(time.Second)
			p.Close()
			o := onePoller(t, store, nil, time.Now())
			if how != "alone" {
				if o.Health != Healthy || o.SilentSince != nil {
					t.Errorf("%s: %s: %s", how, o.Health, o.Says)
				}
				continue
			}
			if at := "Stopped since " + stamp(time.Now()); o.Health != Silent || !strings.Contains(o.Says, at) ||
				o.NextRun != nil {
				t.Errorf("%s: %s, want %s; next %v", o.Health, o.Says, at, o.NextRun)
			}
			next := newProcess(t, "two", store)
			next.cfg.SilentAfter, next.cfg.Alone = p.cfg.SilentAfter, true
			if o := onePoller(t, store, next.Recorder, time.Now()); o.Health != Healthy {
				t.Errorf("the page of another that ticks: %s: %s", o.Health, o.Says)
			}
			next.tick(poller.FetchEmpty, 0)
			if o := onePoller(t, store, nil, time.Now()); o.Health != Healthy || stored(t, store).Stopped != nil {
				t.Errorf("after a tick of another: %s: %s", o.Health, o.Says)
			}
			beside := newProcess(t, "three", store)
			beside.cfg.SilentAfter, beside.cfg.Alone = p.cfg.SilentAfter, true
			beside.tick(poller.FetchEmpty, 0)
			pass(2 * time.Minute)
			next.tick(poller.FetchEmpty, 0)
			beside.Close()
			if stored(t, store).Stopped != nil {
				t.Error("one stops whose last tick is older than another's: that one goes on")
			}
			next.Close()
		}
	})
}
