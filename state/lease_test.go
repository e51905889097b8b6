package state_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

var key = state.Key("shop", "orders", "")

const ttl = 2 * time.Minute

// fixture is one document in a bubble of fake time.
type fixture struct {
	*testing.T
	store *storetest.Faulty
	mem   *memstore.Store
}

// bubble runs test in fake time over a memory store whose clock is an hour ahead of ours: nothing may compare the two.
func bubble(t *testing.T, test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New()
		mem.Clock = func() time.Time { return time.Now().Add(time.Hour) }
		test(&fixture{T: t, store: storetest.NewFaulty(mem), mem: mem})
	})
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) keeper(store state.Store, ttl time.Duration) *state.Keeper {
	f.Helper()
	k, err := state.New(state.Config{Store: store, Key: key, Poller: "orders", Owner: "shop/a", TTL: ttl})
	f.must(err)
	return k
}

func (f *fixture) acquire(k *state.Keeper) *state.Lease {
	f.Helper()
	s, err := k.Load(f.Context())
	if errors.Is(err, state.ErrNotFound) {
		s, err = k.Create(f.Context(), "sha256:f", "", nil)
	}
	f.must(err)
	l, err := k.Acquire(f.Context(), s)
	f.must(err)
	return l
}

func (f *fixture) release(l *state.Lease) {
	f.Helper()
	f.must(l.Release(context.Background()))
}

func (f *fixture) wantErr(err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Errorf("got error %v, want %v", err, target)
	}
}

func (f *fixture) load() state.Document {
	f.Helper()
	stored, err := f.mem.Load(f.Context(), key)
	f.must(err)
	doc, err := state.Decode(stored.Data)
	f.must(err)
	return doc
}

func at(n int) change.Cursor {
	if n == 0 {
		return nil
	}
	return change.Cursor(fmt.Sprintf(`{"kind":"int","value":%d}`, n))
}

func step(n int) state.Commit {
	return state.Commit{From: at(n), To: at(n + 1), BatchID: fmt.Sprintf("batch_%d", n+1), Rows: 1}
}

func TestHeartbeatKeepsTheLease(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		l := f.acquire(f.keeper(f.store, ttl))
		f.store.Counts(storetest.Replace)
		time.Sleep(10*ttl + time.Second)
		f.must(l.Check())
		f.must(context.Cause(l.Context()))
		if n := f.store.Counts(storetest.Replace); n != 30 {
			f.Errorf("%d heartbeats in ten ttls, want one for each third", n)
		}
		doc := f.load()
		if doc.Lease.ExpiresAt.Sub(doc.Lease.HeartbeatAt) != ttl || doc.Lease.TTL != ttl {
			f.Errorf("lease %+v", doc.Lease)
		}
		if n := f.store.Counts(storetest.Load); n != 1 {
			f.Errorf("%d loads, want the one before the creation", n)
		}
		f.release(l)
	})
}

// TestLongTick is defect 6 of the reference: six batches of 50 s each on a lease of 120 s.
func TestLongTick(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		l := f.acquire(f.keeper(f.store, ttl))
		for n := range 6 {
			time.Sleep(50 * time.Second)
			f.must(l.Commit(f.Context(), step(n)))
		}
		f.release(l)
	})
}

func TestExpiryWhenTheStoreIsAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		l := f.acquire(f.keeper(f.store, ttl))
		taken := time.Now()
		f.store.Cut(true)
		<-l.Context().Done()
		if got := time.Since(taken); got != ttl {
			f.Errorf("the right ended after %s, want %s", got, ttl)
		}
		f.wantErr(context.Cause(l.Context()), state.ErrExpired)
		f.wantErr(l.Check(), state.ErrExpired)
		// Coming back does not revive it.
		f.store.Cut(false)
		time.Sleep(time.Second)
		f.wantErr(l.Commit(f.Context(), step(0)), state.ErrExpired)
		f.wantErr(l.Check(), state.ErrExpired)
		f.release(l)
	})
}

func TestOutageWithinTheTTL(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		l := f.acquire(f.keeper(f.store, ttl))
		f.store.Cut(true)
		time.Sleep(ttl - 10*time.Second)
		f.store.Cut(false)
		time.Sleep(ttl)
		f.must(l.Check())
		f.release(l)
	})
}

// TestCommitDuringAnOutage: a commit waits for the store as long as the right lasts, and not longer.
func TestCommitDuringAnOutage(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		l := f.acquire(f.keeper(f.store, ttl))
		f.store.Cut(true)
		time.AfterFunc(ttl/2, func() { f.store.Cut(false) })
		f.must(l.Commit(f.Context(), step(0)))
		f.store.Cut(true)
		err := l.Commit(f.Context(), step(1))
		f.wantErr(err, state.ErrExpired)
		f.wantErr(err, storetest.ErrCrashed) // and it says what the store said
		f.store.Cut(false)
		f.release(l)
	})
}

func TestLeaseOutlivesItsContext(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		ctx, cancel := context.WithCancel(f.Context())
		k := f.keeper(f.store, ttl)
		s, err := k.Create(ctx, "sha256:f", "", nil)
		f.must(err)
		l, err := k.Acquire(ctx, s)
		f.must(err)
		cancel()
		f.must(l.Check())
		f.must(l.Commit(context.WithoutCancel(ctx), step(0)))
		f.must(l.Release(ctx))
		if doc := f.load(); !doc.Checkpoint.Cursor.Equal(at(1)) || doc.Lease.OwnerID != "" {
			f.Errorf("stored %+v", doc)
		}
	})
}

// slow is a store whose answers take a while, with a margin of its own.
type slow struct {
	state.Store
	before, after, margin time.Duration
}

func (s *slow) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	if err := passes(ctx, s.before); err != nil {
		return state.Stamp{}, err
	}
	stamp, err := s.Store.Replace(ctx, key, data, version)
	if late := passes(ctx, s.after); late != nil {
		return state.Stamp{}, late
	}
	return stamp, err
}

// passes waits for d, unless ctx ends before.
func passes(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slow) Margin(time.Duration) time.Duration { return s.margin }

// TestRightCountsFromBeforeTheRequest: the holder cannot know when within the round trip its write took place.
func TestRightCountsFromBeforeTheRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after time.Duration
		want          time.Duration
	}{
		"written late":  {8 * time.Second, 0, ttl - 2*time.Second - 8*time.Second},
		"answered late": {0, 8 * time.Second, ttl - 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				k := f.keeper(&slow{f.store, c.before, c.after, 2 * time.Second}, ttl)
				s, err := k.Create(f.Context(), "sha256:f", "", nil)
				f.must(err)
				sent := time.Now()
				l, err := k.Acquire(f.Context(), s)
				f.must(err)
				f.store.Crash()
				<-l.Context().Done()
				if got := time.Since(sent); got > ttl-2*time.Second || got < c.want {
					f.Errorf("the right ended after %s, want %s", got, c.want)
				}
				defer func() { f.wantErr(l.Release(f.Context()), storetest.ErrCrashed) }()
				// By the document, nobody may take it before that.
				doc := f.load()
				if end := doc.Lease.ExpiresAt; f.mem.Clock().Add(2 * time.Second).After(end) {
					f.Errorf("the right ended at %s of the store's clock, the document says %s", f.mem.Clock(), end)
				}
			})
		})
	}
}

func TestGraceAndStaleness(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		dead := f.store
		l := f.acquire(f.keeper(dead, ttl))
		dead.Crash()
		heir := f.keeper(f.mem, ttl)
		held := func() *state.HeldError {
			s, err := heir.Load(f.Context())
			f.must(err)
			return s.Held()
		}
		time.Sleep(ttl - time.Second)
		if h := held(); h == nil || h.Stale || h.ExpiresIn != 6*time.Second || h.HeartbeatAge != ttl-time.Second ||
			h.Owner != "shop/a" || h.Token != 1 {
			f.Errorf("a second before its end: %+v", h)
		}
		time.Sleep(4 * time.Second) // expired 3 s ago: still held
		f.wantErr(l.Check(), state.ErrExpired)
		if h := held(); h == nil || !h.Stale || h.Staleness != 3*time.Second {
			f.Errorf("within the grace: %+v", h)
		}
		time.Sleep(2 * time.Second)
		if h := held(); h != nil {
			f.Errorf("after the grace: %+v", h)
		}
		next := f.acquire(heir)
		if next.Token() != 2 {
			f.Errorf("token %d, want 2", next.Token())
		}
		f.release(next)
		if h := held(); h != nil {
			f.Errorf("after a release: %+v", h)
		}
	})
}

// TestSnapshotAges: what was held when it was loaded may be free by now, judged without another read.
func TestSnapshotAges(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		f.acquire(f.keeper(f.store, ttl))
		f.store.Crash()
		k := f.keeper(f.mem, ttl)
		s, err := k.Load(f.Context())
		f.must(err)
		if s.Held() == nil {
			f.Fatal("not held")
		}
		time.Sleep(ttl + 5*time.Second)
		l, err := k.Acquire(f.Context(), s)
		f.must(err)
		f.release(l)
	})
}

func TestStoppedHeartbeatByAnother(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		l := f.acquire(f.keeper(f.store, ttl))
		doc := f.load()
		doc.Lease.OwnerID, doc.Lease.LeaseID, doc.Lease.FencingToken = "shop/b", "other", 2
		data, err := doc.Encode()
		f.must(err)
		stored, err := f.mem.Load(f.Context(), key)
		f.must(err)
		_, err = f.mem.Replace(f.Context(), key, data, stored.Version)
		f.must(err)
		<-l.Context().Done()
		f.wantErr(context.Cause(l.Context()), state.ErrLost)
		f.wantErr(l.Release(f.Context()), state.ErrLost)
		if got := f.load(); got.Lease.OwnerID != "shop/b" || got.Lease.WriteSeq != doc.Lease.WriteSeq {
			f.Errorf("the other's document was touched: %+v", got.Lease)
		}
	})
}

// TestDocumentDestroyed: what is deleted or unreadable under a holder ends its lease; it writes nothing over it.
func TestDocumentDestroyed(t *testing.T) {
	t.Parallel()
	for name, destroy := range map[string]func(f *fixture, version state.Version) error{
		"deleted": func(f *fixture, version state.Version) error { return f.mem.Delete(f.Context(), key, version) },
		"truncated": func(f *fixture, version state.Version) error {
			_, err := f.mem.Replace(f.Context(), key, []byte(`{"version":1`), version)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				l := f.acquire(f.keeper(f.store, ttl))
				stored, err := f.mem.Load(f.Context(), key)
				f.must(err)
				f.must(destroy(f, stored.Version))
				f.wantErr(l.Commit(f.Context(), step(0)), state.ErrLost)
				f.wantErr(l.Check(), state.ErrLost)
			})
		})
	}
}
