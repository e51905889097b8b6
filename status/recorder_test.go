package status

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// countedStore counts what it is asked for, and fails when it is told to.
type countedStore struct {
	*memstore.Store
	mu            sync.Mutex
	reads, writes int
	err           error
}

func (s *countedStore) asked(n *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
	return s.err
}

func (s *countedStore) Load(ctx context.Context, key string) (state.Stored, error) {
	if err := s.asked(&s.reads); err != nil {
		return state.Stored{}, err
	}
	return s.Store.Load(ctx, key)
}

func (s *countedStore) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	if err := s.asked(&s.writes); err != nil {
		return state.Stamp{}, err
	}
	return s.Store.Create(ctx, key, data)
}

func (s *countedStore) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp,
	error) {
	if err := s.asked(&s.writes); err != nil {
		return state.Stamp{}, err
	}
	return s.Store.Replace(ctx, key, data, version)
}

func (s *countedStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// counts are the reads and writes since the last call.
func (s *countedStore) counts() [2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := [2]int{s.reads, s.writes}
	s.reads, s.writes = 0, 0
	return n
}

// process is an instance that ticks.
type process struct {
	t     *testing.T
	name  string
	store *countedStore
	*Recorder
	log *strings.Builder
}

func newProcess(t *testing.T, name string, store *memstore.Store) *process {
	p := &process{t: t, name: name, store: &countedStore{Store: store}, log: &strings.Builder{}}
	log := slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.Recorder = NewRecorder(RecorderConfig{App: "shop", Instance: name, Store: p.store, Log: log})
	return p
}

// tick observes a tick that ends now, and waits until nothing moves any more.
func (p *process) tick(event poller.Event, rows int) {
	r := &poller.Report{Poller: "orders", Event: event, Rows: rows, Started: time.Now(), Ended: time.Now(), Drained: true}
	if r.Failed() {
		r.Err = errors.New("denied to " + p.name)
	}
	p.Observe(r, "mend it")
	synctest.Wait()
}

func (p *process) want(what string, reads, writes int) {
	p.t.Helper()
	synctest.Wait()
	if got := p.store.counts(); got != [2]int{reads, writes} {
		p.t.Errorf("%s: %d reads and %d writes, want %d and %d", what, got[0], got[1], reads, writes)
	}
}

// stored is the note as another instance finds it.
func stored(t *testing.T, store *memstore.Store) *Note {
	t.Helper()
	n, err := readNote(t.Context(), store, NoteKey("shop", "orders", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestNotesAreFewAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p := newProcess(t, "one", store)
		defer p.Close()
		p.tick(poller.FetchEmpty, 0)
		p.want("the first tick, idle: one look, and a sign of life", 1, 1)
		for range 200 {
			pass(time.Second)
			p.tick(poller.FetchEmpty, 0)
			p.tick(poller.LeaseAcquireSkipped, 0)
		}
		p.want("idle ticks of 200 s: a sign of life each minute", 0, 3)
		p.tick(poller.TickComplete, 5)
		p.want("work", 0, 1)
		for range 14 {
			pass(time.Second)
			p.tick(poller.TickComplete, 5)
		}
		p.want("more work within 15 s", 0, 0)
		pass(time.Second)
		p.want("15 s after the first, although no tick comes", 0, 1)
		pass(time.Second)
		p.tick(poller.FetchFailed, 0)
		pass(noteSoon)
		p.want("a failure", 0, 1)
		if n := stored(t, store); !n.Failed || n.LastError.Text != "denied to one" || n.LastError.Mend != "mend it" {
			t.Errorf("%+v", n)
		}
		pass(noteSoon)
		p.tick(poller.HandlerFailed, 0)
		p.want("another failure", 0, 1)
		for range 15 {
			pass(time.Second)
			p.tick(poller.HandlerFailed, 0)
		}
		p.want("the same failure for 15 s", 0, 1)
		pass(noteSoon)
		p.tick(poller.FetchEmpty, 0)
		p.want("it is over", 0, 1)
		if n := stored(t, store); n.Failed || n.LastError == nil || n.LastSuccess == nil {
			t.Errorf("%+v", n)
		}
		pass(time.Minute)
		p.tick(poller.FetchEmpty, 0)
		p.want("idle again: a sign of life", 0, 1)
		pass(rereadEvery)
		p.tick(poller.FetchEmpty, 0)
		p.want("five minutes later: one look, and a sign of life", 1, 1)
	})
}

// TestAFailureIsOutlived: another instance failed and is gone; this one finds nothing to do, and its success must be
// seen.
func TestAFailureIsOutlived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		gone := newProcess(t, "gone", store)
		gone.tick(poller.FetchFailed, 0)
		gone.Close()
		p := newProcess(t, "new", store)
		defer p.Close()
		pass(time.Second)
		p.tick(poller.FetchEmpty, 0)
		p.want("the other may be failing still", 1, 0)
		if n := stored(t, store); n == nil || !n.Failed {
			t.Fatalf("%+v", n)
		}
		pass(anothersAlarm)
		p.tick(poller.FetchEmpty, 0)
		p.want("it is over", 0, 1)
		if n := stored(t, store); n.Failed || n.Instance != "new" || n.LastError.Text != "denied to gone" {
			t.Errorf("%+v", n)
		}
	})
}

// TestTwoInstances: both write over each other's notes; the last tick that did something is told.
func TestTwoInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newProcess(t, "a", store), newProcess(t, "b", store)
		defer a.Close()
		defer b.Close()
		a.tick(poller.TickComplete, 1)
		pass(noteEvery)
		b.tick(poller.TickComplete, 1)
		pass(noteEvery)
		a.store.counts()
		a.tick(poller.TickComplete, 1)
		a.want("a write that meets another's: a look, and one retry", 1, 2)
		if n := stored(t, store); n.Instance != "a" {
			t.Errorf("%+v", n)
		}
	})
}

// TestADeadStore: a note that cannot be written is a Debug line, and tried again; nothing waits for it.
func TestADeadStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		p := newProcess(t, "one", store)
		p.store.fail(errors.New("no way to the store"))
		p.tick(poller.CheckpointLoadFailed, 0)
		p.want("a try", 1, 0)
		for range 14 {
			pass(time.Second)
			p.tick(poller.CheckpointLoadFailed, 0)
		}
		p.want("no other for 15 s", 0, 0)
		p.store.fail(nil)
		pass(time.Second)
		p.want("the next", 1, 1)
		if n := stored(t, store); n == nil || !n.Failed {
			t.Errorf("%+v", n)
		}
		if log := p.log.String(); strings.Count(log, "level=DEBUG") != 1 || strings.Contains(log, "level=WARN") ||
			strings.Contains(log, "level=ERROR") {
			t.Error(log)
		}
		p.tick(poller.TickComplete, 9) // of which a part is to be written at the end
		pass(time.Second)
		p.tick(poller.TickComplete, 1)
		p.Close()
		if n := stored(t, store); n.Failed ||
			!n.At.Equal(p.sheets[[2]string{"orders", ""}].note.At) {
			t.Errorf("after the end: %+v", n)
		}
		p.tick(poller.FetchFailed, 0) // has no effect any more
		if n := stored(t, store); n.Failed {
			t.Errorf("a note after the end: %+v", n)
		}
	})
}

// ahead leaves the note of an instance whose clock runs ahead by d, and whose tick went well.
func ahead(t *testing.T, store *memstore.Store, d time.Duration) {
	t.Helper()
	at := time.Now().Add(d).UTC()
	n := Note{Version: noteVersion, Instance: "ahead", At: at, Event: "tick_complete", LastSuccess: &at}
	data, err := n.encode()
	if err == nil {
		_, err = store.Create(t.Context(), NoteKey("shop", "orders", ""), data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAClockThatRunsAhead masks no failure: neither for those who look, nor for the process that fails, and the next
// tick of any other instance writes the note anew.
func TestAClockThatRunsAhead(t *testing.T) {
	for name, c := range map[string]struct {
		by    time.Duration
		event poller.Event
	}{
		"by an hour, a failing tick": {time.Hour, poller.FetchFailed},
		"by an hour, an idle tick":   {time.Hour, poller.FetchEmpty},
		"by 50 s, a failing tick":    {50 * time.Second, poller.FetchFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				ahead(t, store, c.by)
				p := newProcess(t, "one", store)
				defer p.Close()
				p.tick(c.event, 0)
				want := Healthy
				if c.event.Fails() {
					want = Failing
				}
				for who, seen := range map[string]*Recorder{"its own page": p.Recorder, "another's": nil} {
					b := newBoard(BoardConfig{App: "shop", Store: store, Seen: seen, Bound: time.Second, Outputs: []Subject{
						{Base: Output{Poller: "orders"},
							Parts: partOf(func(context.Context) (func(*Output), error) { return func(*Output) {}, nil })},
					}})
					if o := b.Report(t.Context()).Outputs[0]; o.Health != want ||
						o.LastSuccess != nil && o.LastSuccess.After(time.Now().Add(clockSlack)) {
						t.Errorf("%s: %s: %s (%v)", who, o.Health, o.Says, o.LastSuccess)
					}
				}
				if n := stored(t, store); n == nil || n.Instance != "one" || n.Failed != c.event.Fails() {
					t.Errorf("the note: %+v", n)
				}
			})
		})
	}
}

// TestAClockThatIsPutBack: what the process noted before, by a clock that was an hour ahead, does not stand.
func TestAClockThatIsPutBack(t *testing.T) {
	for _, event := range []poller.Event{poller.FetchFailed, poller.FetchEmpty} {
		t.Run(string(event), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				p := newProcess(t, "one", store)
				defer p.Close()
				then := time.Now().Add(time.Hour)
				p.Observe(&poller.Report{Poller: "orders", Event: poller.TickComplete, Rows: 1, Started: then, Ended: then,
					Drained: true}, "")
				pass(noteEvery)
				p.tick(event, 0)
				pass(noteEvery)
				if n := stored(t, store); n == nil || n.Failed != event.Fails() {
					t.Errorf("the note: %+v", n)
				}
			})
		})
	}
}

// hungStore answers no write, and does not look at its context.
type hungStore struct {
	*memstore.Store
	release chan struct{}
}

func (s hungStore) Create(context.Context, string, []byte) (state.Stamp, error) {
	<-s.release
	return state.Stamp{}, errors.New("too late")
}

// TestCloseDoesNotWaitForAHungStore: a process that was told to stop ends.
func TestCloseDoesNotWaitForAHungStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := hungStore{memstore.New(), make(chan struct{})}
		r := NewRecorder(RecorderConfig{App: "shop", Instance: "one", Store: store})
		r.Observe(tick(poller.TickComplete, 0), "")
		synctest.Wait()
		begun := time.Now()
		closed := make(chan struct{})
		go func() { r.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(time.Minute):
			t.Error("it waits")
		}
		if took := time.Since(begun); took > lastBound {
			t.Errorf("it took %s", took)
		}
		close(store.release)
	})
}

// TestWithoutStore: only this process knows.
func TestWithoutStore(t *testing.T) {
	r := NewRecorder(RecorderConfig{App: "shop", Instance: "one"})
	r.Observe(tick(poller.FetchFailed, 0), "")
	if n, _ := r.seen("orders", ""); n == nil || !n.Failed {
		t.Errorf("%+v", n)
	}
	if n, good := (*Recorder)(nil).seen("orders", ""); n != nil || !good.IsZero() {
		t.Errorf("a command that does not tick knows %+v", n)
	}
	r.Close()
}

// brokenStore is an adapter with a bug.
type brokenStore struct{ state.Store }

// TestABugOfAStoreEndsNothing: a panic while a note is written is told, and the process lives.
func TestABugOfAStoreEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		r := NewRecorder(RecorderConfig{
			App: "shop", Instance: "one", Store: brokenStore{},
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		r.Observe(tick(poller.TickComplete, 0), "")
		synctest.Wait()
		r.Close()
		if !strings.Contains(log.String(), "panicked") {
			t.Errorf("%q", log.String())
		}
	})
}
