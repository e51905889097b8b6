package status

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// slowStore takes its time for each answer, and counts how many it is asked for at a time.
type slowStore struct {
	*memstore.Store
	latency        time.Duration
	now, most      int
	loads, written atomic.Int64
	mu             sync.Mutex
}

func (s *slowStore) answer(ctx context.Context) error {
	s.count(1)
	defer s.count(-1)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.latency):
		return nil
	}
}

func (s *slowStore) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now += n
	s.most = max(s.most, s.now)
}

func (s *slowStore) Load(ctx context.Context, key string) (state.Stored, error) {
	s.loads.Add(1)
	if err := s.answer(ctx); err != nil {
		return state.Stored{}, err
	}
	return s.Store.Load(ctx, key)
}

func (s *slowStore) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	if err := s.answer(ctx); err != nil {
		return state.Stamp{}, err
	}
	s.written.Add(1)
	return s.Store.Create(ctx, key, data)
}

// manyPollers is a board of so many, whose documents and dead letters are in the store.
func manyPollers(s *slowStore, n int) *Board {
	var subjects []Subject
	for i := range n {
		key := fmt.Sprint(i)
		read := func(ctx context.Context) (func(*Output), error) {
			if _, err := s.Load(ctx, key); !errors.Is(err, state.ErrNotFound) {
				return nil, err
			}
			return func(*Output) {}, nil
		}
		subjects = append(subjects, Subject{Base: Output{Poller: "p" + key}, Parts: []Part{
			{What: "the state document", Main: true, Stored: true, Every: 2 * time.Second, Read: read},
			{What: "the dead letters", Stored: true, Every: 10 * time.Second, Read: read},
		}})
	}
	return newBoard(BoardConfig{App: "shop", Store: s, Bound: 5 * time.Second, Outputs: subjects})
}

func wantAll(t *testing.T, r *Report, want Health) {
	t.Helper()
	for i := range r.Outputs {
		if o := &r.Outputs[i]; o.Health != want {
			t.Fatalf("%s is %s: %s", o.Poller, o.Health, o.Says)
		}
	}
}

// TestOneLookIsNoBurst: 200 pollers are 600 reads; each at the same time is a connection, in the process that ticks.
func TestOneLookIsNoBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memstore.New(), latency: 200 * time.Millisecond}
		b := manyPollers(s, 200)
		r := b.Report(t.Context())
		wantAll(t, &r, Unknown) // no tick has left a note
		if s.loads.Load() != 600 || s.most > mostReads {
			t.Errorf("%d reads, %d at a time", s.loads.Load(), s.most)
		}
	})
}

// TestReportsOfAMomentShareTheirReads: with what is usual, not even a document is read twice.
func TestReportsOfAMomentShareTheirReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memstore.New(), latency: 10 * time.Millisecond}
		b := manyPollers(s, 200)
		b.Report(t.Context())
		s.loads.Store(0)
		for range 10 {
			b.Report(t.Context())
			pass(100 * time.Millisecond)
		}
		if n := s.loads.Load(); n != 0 {
			t.Errorf("ten reports within a second made %d reads more", n)
		}
		b.Forget("p7")
		b.Report(t.Context())
		if n := s.loads.Load(); n != 3 {
			t.Errorf("after something was done to one poller: %d reads, want its document, letters and note", n)
		}
	})
}

// TestReadsThatHangGiveTheirTurnsBack: a store whose answers never come, and that does not look at contexts, keeps no
// turn for ever.
func TestReadsThatHangGiveTheirTurnsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var hang atomic.Bool
		hang.Store(true)
		var subjects []Subject
		for i := range mostReads + 8 {
			subjects = append(subjects, Subject{Base: Output{Poller: fmt.Sprint(i)},
				Parts: []Part{{What: "the state document", Main: true, Stored: true,
					Read: func(context.Context) (func(*Output), error) {
						if hang.Load() {
							<-release
						}
						return func(*Output) {}, nil
					}}}})
		}
		b := newBoard(BoardConfig{Bound: time.Second, Outputs: subjects})
		begun := time.Now()
		r := b.Report(t.Context())
		wantAll(t, &r, Failing)
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
		hang.Store(false)
		pass(failedEvery)
		for i := range subjects {
			b.Forget(fmt.Sprint(i)) // a read beside the one that hangs
		}
		r = b.Report(t.Context())
		wantAll(t, &r, Unknown) // no tick has left a note
		close(release)
	})
}

// TestNotesOfManyPollersAreInTime: failures of 200 pollers beside a store that takes 200 ms, and what is left at a
// stop.
func TestNotesOfManyPollersAreInTime(t *testing.T) {
	fail := func(c *Recorder) {
		for i := range 200 {
			c.Observe(&poller.Report{Poller: fmt.Sprintf("p%d", i), Event: poller.HandlerFailed, Err: errors.New("x"),
				Started: time.Now(), Ended: time.Now()}, "")
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memstore.New(), latency: 200 * time.Millisecond}
		c := NewRecorder(RecorderConfig{App: "shop", Instance: "one", Store: s})
		fail(c)
		pass(15 * time.Second)
		if n := s.written.Load(); n != 200 || s.most > writers {
			t.Errorf("after 15 s %d of 200 failures are noted, %d at a time", n, s.most)
		}
		c.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{Store: memstore.New(), latency: 200 * time.Millisecond}
		c := NewRecorder(RecorderConfig{App: "shop", Instance: "one", Store: s})
		fail(c)
		begun := time.Now()
		c.Close()
		if took := time.Since(begun); took > lastBound+s.latency || s.written.Load() < 4*writers {
			t.Errorf("a stop took %s and noted %d failures", took, s.written.Load())
		}
	})
}

// TestABugInJudgingNotesEndsNothing: the goroutine of the notes watches over itself.
func TestABugInJudgingNotesEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t, "one", memstore.New())
		defer p.Close()
		p.mu.Lock()
		p.sheets[[2]string{"broken", ""}] = nil
		p.mu.Unlock()
		p.tick(poller.FetchFailed, 0)
		p.mu.Lock()
		delete(p.sheets, [2]string{"broken", ""})
		p.mu.Unlock()
		pass(noteEvery)
		p.want("after the bug", 1, 1)
	})
}
