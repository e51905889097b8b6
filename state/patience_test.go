package state_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// silent is a store that can stop answering: while it does, calls return when their context ends, and not before. If
// heard, replacements take place, and only their answers are missing.
type silent struct {
	state.Store
	on, heard atomic.Bool
}

func (s *silent) wait(ctx context.Context) error {
	if !s.on.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *silent) Load(ctx context.Context, key string) (state.Stored, error) {
	if err := s.wait(ctx); err != nil {
		return state.Stored{}, err
	}
	return s.Store.Load(ctx, key)
}

func (s *silent) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	if err := s.wait(ctx); err != nil {
		return state.Stamp{}, err
	}
	return s.Store.Create(ctx, key, data)
}

func (s *silent) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	if s.heard.Load() {
		if _, err := s.Store.Replace(ctx, key, data, version); err != nil {
			return state.Stamp{}, err
		}
		<-ctx.Done()
		return state.Stamp{}, ctx.Err()
	}
	if err := s.wait(ctx); err != nil {
		return state.Stamp{}, err
	}
	return s.Store.Replace(ctx, key, data, version)
}

func (s *silent) List(ctx context.Context, prefix string) ([]string, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, prefix)
}

// took runs do and asserts that it took at most limit of the bubble's time.
func (f *fixture) took(what string, limit time.Duration, do func() error) error {
	f.Helper()
	begun := time.Now()
	err := do()
	if d := time.Since(begun); d > limit {
		f.Errorf("%s took %s, want %s at most", what, d, limit)
	}
	return err
}

// TestSilentStoreIsNotWaitedForLong: whoever asks a store that hangs gets an error that says so.
func TestSilentStoreIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	for ttl, limit := range map[time.Duration]time.Duration{time.Minute: 20 * time.Second,
		6 * time.Second: 5 * time.Second} {
		for name, ask := range map[string]func(context.Context, *state.Keeper) error{
			"load": func(ctx context.Context, k *state.Keeper) error { _, err := k.Load(ctx); return err },
			"create": func(ctx context.Context, k *state.Keeper) error {
				_, err := k.Create(ctx, "sha256:f", "", nil)
				return err
			},
			"twins": func(ctx context.Context, k *state.Keeper) error { _, err := k.Twins(ctx, "sha256:f"); return err },
			"reset": func(ctx context.Context, k *state.Keeper) error {
				_, err := k.Reset(ctx, "sha256:f", "", nil)
				return err
			},
		} {
			t.Run(name+" at "+ttl.String(), func(t *testing.T) {
				bubble(t, func(f *fixture) {
					s := &silent{Store: f.store}
					s.on.Store(true)
					k := f.keeper(s, ttl)
					err := f.took(name, limit, func() error { return ask(f.Context(), k) })
					var fault *state.SilentError
					if !errors.As(err, &fault) || !strings.Contains(err.Error(), "did not answer within "+limit.String()) ||
						!strings.Contains(err.Error(), "state__connection") {
						f.Errorf("%v", err)
					}
				})
			})
		}
	}
}

// TestCallersEndIsNotTheStoresFault: what the caller's context ended for is what a load is said to have ended for.
func TestCallersEndIsNotTheStoresFault(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		s := &silent{Store: f.store}
		s.on.Store(true)
		why := errors.New("the host is stopping")
		ctx, cancel := context.WithTimeoutCause(f.Context(), time.Second, why)
		defer cancel()
		_, err := f.keeper(s, ttl).Load(ctx)
		f.wantErr(err, why)
		if fault := (*state.SilentError)(nil); errors.As(err, &fault) {
			f.Errorf("%v", err)
		}
	})
}

func TestAcquisitionOfASilentStore(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		s := &silent{Store: f.store}
		k := f.keeper(s, time.Minute)
		snapshot, err := k.Create(f.Context(), "sha256:f", "", nil)
		f.must(err)
		s.on.Store(true)
		err = f.took("the acquisition", 15*time.Second, func() error {
			_, err := k.Acquire(f.Context(), snapshot)
			return err
		})
		if fault := (*state.SilentError)(nil); !errors.As(err, &fault) {
			f.Errorf("%v", err)
		}
	})
}

// TestCommitWaitsAsLongAsItsContext: the caller has a deadline, the write has not: it lands, and the next commit
// follows.
func TestCommitWaitsAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	for name, heard := range map[string]bool{"nothing was heard": false, "only the answer is missing": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				s := &silent{Store: f.store}
				l := f.acquire(f.keeper(s, time.Minute))
				s.on.Store(!heard)
				s.heard.Store(heard)
				over := errors.New("the tick is over")
				ctx, cancel := context.WithTimeoutCause(f.Context(), 10*time.Second, over)
				defer cancel()
				err := f.took("the commit", 10*time.Second, func() error { return l.Commit(ctx, step(0)) })
				f.wantErr(err, over)
				if unknown := (*state.UnknownError)(nil); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "not known") {
					f.Errorf("%v", err)
				}
				f.must(l.Check())
				s.on.Store(false)
				s.heard.Store(false)
				f.must(l.Commit(f.Context(), step(1)))
				f.release(l)
				if doc := f.load(); !doc.Checkpoint.Cursor.Equal(at(2)) || doc.Lease.OwnerID != "" {
					f.Errorf("stored %+v", doc)
				}
			})
		})
	}
}

// TestReleaseOfASilentStore: a tick does not wait for its end longer than it said.
func TestReleaseOfASilentStore(t *testing.T) {
	t.Parallel()
	const limit = 5 * time.Second
	for name, before := range map[string]func(f *fixture, s *silent, l *state.Lease){
		"held": func(*fixture, *silent, *state.Lease) {},
		"during a heartbeat": func(*fixture, *silent, *state.Lease) {
			time.Sleep(21 * time.Second)
		},
		"expired": func(f *fixture, _ *silent, l *state.Lease) {
			<-l.Context().Done()
			f.wantErr(l.Check(), state.ErrExpired)
		},
		"after a commit that was not answered": func(f *fixture, _ *silent, l *state.Lease) {
			ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
			defer cancel()
			f.wantErr(l.Commit(ctx, step(0)), context.DeadlineExceeded)
		},
		"after a commit with release that was not answered": func(f *fixture, _ *silent, l *state.Lease) {
			ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
			defer cancel()
			c := step(0)
			c.Release = true
			f.wantErr(l.Commit(ctx, c), context.DeadlineExceeded)
			f.wantErr(l.Check(), state.ErrReleased)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				s := &silent{Store: f.store}
				l := f.acquire(f.keeper(s, time.Minute))
				s.on.Store(true)
				before(f, s, l)
				err := f.took("the release", limit, func() error { return l.Release(f.Context()) })
				if err == nil {
					f.Error("released, without an answer")
				}
				if l.Check() == nil {
					f.Error("the right outlived its release")
				}
				// And not beyond the deadline of the caller.
				spent, cancel := context.WithTimeout(f.Context(), 0)
				defer cancel()
				err = f.took("a release without time", 0, func() error { return l.Release(spent) })
				if err == nil {
					f.Error("released, without an answer")
				}
				s.on.Store(false)
				time.Sleep(time.Minute) // whatever is on its way has come to its end
				f.must(l.Release(f.Context()))
				if doc := f.load(); doc.Lease.OwnerID != "" {
					f.Errorf("stored %+v", doc)
				}
			})
		})
	}
}

// panicking is a store with a bug.
type panicking struct {
	state.Store
	on    atomic.Bool
	calls atomic.Int32
}

func (p *panicking) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	p.calls.Add(1)
	if p.on.Load() {
		panic("planned")
	}
	return p.Store.Replace(ctx, key, data, version)
}

// TestPanicEndsTheLease: and not the process. Everybody is told, and nothing more is written.
func TestPanicEndsTheLease(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*fixture, *state.Lease) error{
		"commit": func(f *fixture, l *state.Lease) error { return l.Commit(f.Context(), step(0)) },
		"commit and release": func(f *fixture, l *state.Lease) error {
			c := step(0)
			c.Release = true
			return l.Commit(f.Context(), c)
		},
		"release":   func(f *fixture, l *state.Lease) error { return l.Release(f.Context()) },
		"heartbeat": func(_ *fixture, l *state.Lease) error { <-l.Context().Done(); return context.Cause(l.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				p := &panicking{Store: f.store}
				l := f.acquire(f.keeper(p, ttl))
				p.on.Store(true)
				p.calls.Store(0)
				err := ask(f, l)
				if err == nil || !strings.Contains(err.Error(), "panicked: planned") ||
					!strings.Contains(err.Error(), "patience_test.go") {
					f.Errorf("%v", err)
				}
				if l.Check() == nil || l.Context().Err() == nil {
					f.Error("the right goes on")
				}
				p.on.Store(false)
				if l.Commit(f.Context(), step(0)) == nil || l.Release(f.Context()) == nil {
					f.Error("the lease goes on")
				}
				time.Sleep(ttl)
				synctest.Wait()
				if n := p.calls.Load(); n != 1 {
					f.Errorf("%d writes, want the one that panicked", n)
				}
			})
		})
	}
}
