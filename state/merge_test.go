package state_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// gate holds every replacement until it is let through.
type gate struct {
	state.Store
	open chan struct{}
}

func (g *gate) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	select {
	case <-g.open:
	case <-ctx.Done():
		return state.Stamp{}, ctx.Err()
	}
	return g.Store.Replace(ctx, key, data, version)
}

// TestWaitingRequestsMerge: what is asked while a write is under way travels in the next one, in order.
func TestWaitingRequestsMerge(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		g := &gate{Store: f.store, open: make(chan struct{}, 1)}
		g.open <- struct{}{}
		l := f.acquire(f.keeper(g, ttl))
		f.store.Counts(storetest.Replace)

		results := make([]chan error, 5)
		ask := func(i int, do func() error) {
			results[i] = make(chan error, 1)
			go func() { results[i] <- do() }()
			synctest.Wait() // it waits for the store, or in the queue
		}
		ask(0, func() error { return l.Commit(f.Context(), step(0)) }) // under way
		ask(1, func() error { return l.Commit(f.Context(), step(1)) })
		ask(2, func() error { return l.Commit(f.Context(), step(7)) }) // from elsewhere: refused, and harms nobody
		ask(3, func() error { return l.Commit(f.Context(), step(2)) })
		ask(4, func() error { return l.Release(f.Context()) })

		g.open <- struct{}{}
		f.must(<-results[0])
		g.open <- struct{}{}
		f.must(<-results[1])
		f.wantErr(<-results[2], state.ErrNotFrom)
		f.must(<-results[3])
		f.must(<-results[4])
		if n := f.store.Counts(storetest.Replace); n != 2 {
			f.Errorf("%d writes, want 2", n)
		}
		if doc := f.load(); !doc.Checkpoint.Cursor.Equal(at(3)) || doc.Lease.OwnerID != "" {
			f.Errorf("stored %+v", doc)
		}
	})
}

// TestMergedRequestsAreAnsweredApart: of two commits, the first is in an ambiguous write that landed, the second came
// in later. The read-back proves the first only, and the second still has to be written.
func TestMergedRequestsAreAnsweredApart(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		g := &gate{Store: f.store, open: make(chan struct{}, 1)}
		g.open <- struct{}{}
		l := f.acquire(f.keeper(g, ttl))
		f.store.FailNext(storetest.Replace, storetest.DoneButFailed, 1)
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- l.Commit(f.Context(), step(0)) }()
		synctest.Wait()
		go func() { second <- l.Commit(f.Context(), step(1)) }()
		synctest.Wait()
		g.open <- struct{}{}
		f.must(<-first)
		if doc := f.load(); !doc.Checkpoint.Cursor.Equal(at(1)) {
			f.Errorf("stored %s after the first", doc.Checkpoint.Cursor)
		}
		g.open <- struct{}{}
		f.must(<-second)
		if doc := f.load(); !doc.Checkpoint.Cursor.Equal(at(2)) {
			f.Errorf("stored %s after the second", doc.Checkpoint.Cursor)
		}
		g.open <- struct{}{}
		f.release(l)
	})
}

// refusing answers every write as a storage account does whose role is missing.
type refusing struct {
	state.Store
	on       bool
	replaces int
	loads    int
}

var errDenied = &state.PermanentError{Err: errors.New("HTTP 403: the role is missing")}

func (r *refusing) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	if r.replaces++; r.on {
		return state.Stamp{}, errDenied
	}
	return r.Store.Replace(ctx, key, data, version)
}

func (r *refusing) Load(ctx context.Context, key string) (state.Stored, error) {
	if r.loads++; r.on {
		return state.Stored{}, errDenied
	}
	return r.Store.Load(ctx, key)
}

// TestPermanentFaults are told after a few tries instead of at the end of the right; heartbeats go on trying until
// then.
func TestPermanentFaults(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		r := &refusing{Store: f.store}
		k := f.keeper(r, ttl)
		s, err := k.Create(f.Context(), "sha256:f", "", nil)
		f.must(err)
		r.on = true
		_, err = k.Acquire(f.Context(), s)
		f.wantErr(err, errDenied)
		if r.replaces != 3 {
			f.Errorf("an acquisition was tried %d times", r.replaces)
		}
		r.loads = 0
		_, err = k.Load(f.Context())
		f.wantErr(err, errDenied)
		if r.loads != 1 {
			f.Errorf("a load was tried %d times", r.loads)
		}
		r.on = false
		l := f.acquire(k)
		r.on, r.replaces = true, 0
		f.wantErr(l.Commit(f.Context(), step(0)), errDenied)
		if r.replaces != 3 {
			f.Errorf("a commit was tried %d times", r.replaces)
		}
		f.must(l.Check())
		r.on = false
		f.must(l.Commit(f.Context(), step(0)))
		r.on = true
		f.wantErr(l.Release(f.Context()), errDenied)
		f.wantErr(l.Check(), state.ErrReleased)
		synctest.Wait()
	})
}

func TestTransientLoadsAreRepeated(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		k := f.keeper(f.store, ttl)
		_, err := k.Create(f.Context(), "sha256:f", "", nil)
		f.must(err)
		f.store.FailNext(storetest.Load, storetest.NotDone, 2)
		_, err = k.Load(f.Context())
		f.must(err)
		f.store.FailNext(storetest.Load, storetest.NotDone, 100)
		f.store.Counts(storetest.Load)
		_, err = k.Load(f.Context())
		f.wantErr(err, storetest.ErrInjected)
		if n := f.store.Counts(storetest.Load); n != 4 {
			f.Errorf("%d tries, want 4", n)
		}
	})
}

// TestReleaseEndsTheRightWhenItIsSent: the write lands unheard, another takes the lease at once, and the old holder
// must not believe in its own any more. Its commit is found in the document, under the other's lease.
func TestReleaseEndsTheRightWhenItIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		l := f.acquire(f.keeper(f.store, ttl))
		sent := false
		var away atomic.Bool
		away.Store(true)
		f.store.Plan(func(op storetest.Op) (storetest.Fault, int) {
			switch {
			case op == storetest.Replace && !sent:
				sent = true
				return storetest.DoneButFailed, 0
			case away.Load():
				return storetest.NotDone, 0
			}
			return storetest.None, 0
		})
		result := make(chan error, 1)
		c := step(0)
		c.Release = true
		go func() { result <- l.Commit(f.Context(), c) }()
		synctest.Wait()
		other := f.acquire(f.keeper(f.mem, ttl))
		f.must(other.Check())
		f.wantErr(l.Check(), state.ErrReleased)
		f.wantErr(context.Cause(l.Context()), state.ErrReleased)
		// A commit of no batch, as of a window that closed, is named all the same.
		err := l.Commit(f.Context(), state.Commit{})
		if err == nil || !strings.HasPrefix(err.Error(), "committing the position: ") {
			t.Errorf("a commit without a batch: %v", err)
		}
		away.Store(false)
		f.must(<-result)
		f.must(l.Release(f.Context()))
		f.must(other.Check())
		f.release(other)
	})
}

// TestReleaseAgainAfterAFailure: a commit with release that the store refused has ended the lease, and left it in the
// document: a second release takes it out.
func TestReleaseAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		r := &refusing{Store: f.store}
		l := f.acquire(f.keeper(r, ttl))
		r.on = true
		c := step(0)
		c.Release = true
		f.wantErr(l.Commit(f.Context(), c), errDenied)
		f.wantErr(l.Release(f.Context()), errDenied)
		if f.load().Lease.OwnerID == "" {
			f.Fatal("released, with every write refused")
		}
		r.on = false
		f.must(l.Release(f.Context()))
		if f.load().Lease.OwnerID != "" {
			f.Error("not released")
		}
	})
}

// TestSpellingOfCursors: white space does not make another position, and what is no cursor is never stored.
func TestSpellingOfCursors(t *testing.T) {
	t.Parallel()
	bubble(t, func(f *fixture) {
		l := f.acquire(f.keeper(f.store, ttl))
		spaced := change.Cursor(`{ "kind": "int", "value": 1 }`)
		f.must(l.Commit(f.Context(), state.Commit{To: spaced, BatchID: "b1"}))
		f.must(l.Commit(f.Context(), state.Commit{From: spaced, To: at(2), BatchID: "b2"}))
		for _, bad := range []string{"", "17", "{", `{"value":1}`} {
			f.wantErr(l.Commit(f.Context(), state.Commit{From: at(2), To: change.Cursor(bad)}), change.ErrCursor)
		}
		if doc := f.load(); !doc.Checkpoint.Cursor.Equal(at(2)) {
			f.Errorf("stored %s", doc.Checkpoint.Cursor)
		}
		f.release(l)
	})
}
