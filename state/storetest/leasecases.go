package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// RunLease drives keepers and leases over the store through each of the three failpoints.
func RunLease(t *testing.T, suite Lease) {
	run := func(name string, ttl time.Duration, test func(w *world)) {
		t.Run(name, func(t *testing.T) {
			if !suite.FakeTime {
				t.Parallel()
				test(newWorld(t, suite.Open(t), ttl))
				return
			}
			synctest.Test(t, func(t *testing.T) { test(newWorld(t, suite.Open(t), ttl)) })
		})
	}
	for _, fault := range []Fault{None, NotDone, DoneButFailed, DoneLater} {
		for times := 1; times <= 2; times++ {
			if fault == None && times > 1 {
				continue
			}
			name := fmt.Sprintf("%s, %d times: ", fault, times)
			run(name+"create", suite.TTL, func(w *world) { w.createUnder(fault, times) })
			run(name+"acquire", suite.TTL, func(w *world) { w.acquireUnder(fault, times) })
			run(name+"commit", suite.TTL, func(w *world) { w.commitUnder(fault, times) })
			run(name+"commit and release", suite.TTL, func(w *world) { w.commitReleaseUnder(fault, times) })
			run(name+"release", suite.TTL, func(w *world) { w.releaseUnder(fault, times) })
			run(name+"park", suite.TTL, func(w *world) { w.parkUnder(fault, times) })
			run(name+"collect", suite.TTL, func(w *world) { w.collectUnder(fault, times) })
			run(name+"amend", suite.TTL, func(w *world) { w.amendUnder(fault, times) })
			run(name+"break", suite.TTL, func(w *world) { w.breakUnder(fault, times) })
			run(name+"clone", suite.TTL, func(w *world) { w.cloneUnder(fault, times) })
		}
	}
	run("a holder that lost its lease collects nobody's objects", suite.TTL, (*world).collectLost)
	run("a holder that gave its lease back collects nobody's objects", suite.TTL, (*world).collectReleased)
	run("an operator's backfill is the operator's", suite.TTL, (*world).backfills)
	run("an acquisition that lands late is ours", suite.TTL, (*world).lateAcquisition)
	run("a commit that lands late is done once", suite.TTL, (*world).lateCommit)
	run("an operator's change is kept", suite.TTL, (*world).operatorsChange)
	run("a taken lease is lost, its commit refused", suite.TTL, (*world).taken)
	run("an emptied owner is lost", suite.TTL, (*world).emptied)
	run("an acquisition adopts a moved document", suite.TTL, (*world).moved)
	run("a commit from elsewhere is refused", suite.TTL, (*world).notFrom)
	run("operations are counted", suite.TTL, (*world).operations)
	run("of many acquisitions one wins", suite.TTL, (*world).race)
	run("a crashed holder is followed after its expiry", suite.ShortTTL, (*world).takeover)
	run("an expired lease that nobody took is released", suite.ShortTTL, (*world).releaseExpired)
}

func (w *world) createUnder(fault Fault, times int) {
	in := w.instance()
	in.store.FailNext(Create, fault, times)
	s := w.create(in)
	in.store.Land()
	if s.Held() != nil {
		w.Errorf("a new document is held: %v", s.Held())
	}
	w.wantStored(0, false, nil)
	l := w.acquire(in, s)
	if l.Token() != 1 {
		w.Errorf("the first token is %d", l.Token())
	}
}

func (w *world) acquireUnder(fault Fault, times int) {
	in := w.instance()
	s := w.create(in)
	in.store.FailNext(Replace, fault, times)
	l := w.acquire(in, s)
	in.store.Land()
	w.must(l.Check())
	w.wantStored(1, true, nil)
	w.must(l.Commit(w.Context(), step(0)))
	w.wantStored(1, true, at(1))
}

func (w *world) commitUnder(fault Fault, times int) {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	in.store.FailNext(Replace, fault, times)
	w.must(l.Commit(w.Context(), step(0)))
	in.store.Land()
	w.wantStored(1, true, at(1))
	w.must(l.Commit(w.Context(), step(1)))
	w.must(l.Check())
	w.wantStored(1, true, at(2))
	if doc := w.stored(); doc.Checkpoint.LastBatchID != "batch_2" || doc.Checkpoint.RowCount != 10 ||
		doc.Checkpoint.Incarnation != "life-1" {
		w.Errorf("checkpoint %+v", doc.Checkpoint)
	}
	moves := 0
	for _, landed := range w.history.Landed() {
		if landed.Doc.Checkpoint.LastBatchID == "batch_1" && landed.Doc.Lease.OwnerID != "" {
			moves++
		}
	}
	if moves < 1 {
		w.Error("the first commit never landed")
	}
}

func (w *world) commitReleaseUnder(fault Fault, times int) {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	in.store.FailNext(Replace, fault, times)
	c := step(0)
	c.Release = true
	w.must(l.Commit(w.Context(), c))
	in.store.Land()
	w.wantStored(1, false, at(1))
	w.wantErr(l.Check(), state.ErrReleased)
	w.wantErr(context.Cause(l.Context()), state.ErrReleased)
	w.wantErr(l.Commit(w.Context(), step(1)), state.ErrReleased)
	w.must(l.Release(w.Context()))
	w.followedAtOnce()
}

func (w *world) releaseUnder(fault Fault, times int) {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	in.store.FailNext(Replace, fault, times)
	w.must(l.Release(w.Context()))
	in.store.Land()
	w.must(l.Release(w.Context()))
	w.wantStored(1, false, nil)
	w.followedAtOnce()
}

// followedAtOnce: a released lease is free without any grace.
func (w *world) followedAtOnce() {
	w.Helper()
	in := w.instance()
	s, err := in.Load(w.Context())
	w.must(err)
	if l := w.acquire(in, s); l.Token() != 2 {
		w.Errorf("the next token is %d, want 2", l.Token())
	}
}

func (w *world) lateAcquisition() {
	in := w.instance()
	s := w.create(in)
	first := true
	in.store.Plan(func(op Op) (Fault, int) {
		if op == Replace && first {
			first = false
			// It lands after the read-back, which says "not yet", and before the second write, which conflicts.
			return DoneLater, 2
		}
		return None, 0
	})
	l := w.acquire(in, s)
	w.must(l.Check())
	w.wantStored(1, true, nil)
	w.must(l.Commit(w.Context(), step(0)))
}

func (w *world) lateCommit() {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	first := true
	in.store.Plan(func(op Op) (Fault, int) {
		if op == Replace && first {
			first = false
			return DoneLater, 2
		}
		return None, 0
	})
	w.must(l.Commit(w.Context(), step(0)))
	w.must(l.Commit(w.Context(), step(1)))
	w.wantStored(1, true, at(2))
}

func (w *world) operatorsChange() {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	w.edit(func(data []byte) []byte {
		return bytes.Replace(data, []byte(`{`), []byte(`{"x-note" : { "by":"ann", "why":"<b>" },`), 1)
	})
	w.must(l.Commit(w.Context(), step(0)))
	w.wantStored(1, true, at(1))
	stored, err := w.history.Load(w.Context(), key)
	w.must(err)
	if !bytes.Contains(stored.Data, []byte(`{ "by":"ann", "why":"<b>" }`)) {
		w.Errorf("the operator's member is gone:\n%s", stored.Data)
	}
}

func (w *world) taken() {
	in, thief := w.instance(), w.instance()
	l := w.acquire(in, w.create(in))
	w.must(l.Commit(w.Context(), step(0)))
	// An operator frees the lease by force, and another takes it.
	w.edit(func(data []byte) []byte {
		return bytes.Replace(data, []byte(`"owner_id": "shop/1"`), []byte(`"owner_id": ""`), 1)
	})
	s, err := thief.Load(w.Context())
	w.must(err)
	other := w.acquire(thief, s)
	w.wantErr(l.Commit(w.Context(), step(1)), state.ErrLost)
	w.wantErr(l.Check(), state.ErrLost)
	w.wantErr(context.Cause(l.Context()), state.ErrLost)
	w.wantErr(l.Release(w.Context()), state.ErrLost)
	w.wantStored(2, true, at(1))
	w.must(other.Commit(w.Context(), step(1)))
	w.wantStored(2, true, at(2))
}

func (w *world) emptied() {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	w.edit(func(data []byte) []byte {
		return bytes.Replace(data, []byte(`"owner_id": "shop/1"`), []byte(`"owner_id": ""`), 1)
	})
	w.wantErr(l.Commit(w.Context(), step(0)), state.ErrLost)
	w.wantStored(1, false, nil)
}

func (w *world) moved() {
	in, other := w.instance(), w.instance()
	s := w.create(in)
	l := w.acquire(other, s)
	_, err := in.Acquire(w.Context(), s)
	var held *state.HeldError
	if !errors.As(err, &held) || held.Owner != "shop/2" || held.Token != 1 || held.Stale {
		w.Fatalf("acquiring what another took meanwhile: %v", err)
	}
	c := step(0)
	c.Release = true
	w.must(l.Commit(w.Context(), c))
	_, err = in.Acquire(w.Context(), s)
	var moved *state.MovedError
	if !errors.As(err, &moved) {
		w.Fatalf("acquiring what another released meanwhile: %v", err)
	}
	mine := w.acquire(in, moved.Snapshot)
	if from := moved.Snapshot.Doc.Checkpoint.Cursor; mine.Token() != 2 || !from.Equal(at(1)) {
		w.Errorf("adopted token %d, cursor %s", mine.Token(), from)
	}
}

func (w *world) notFrom() {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	w.must(l.Commit(w.Context(), step(0)))
	w.wantErr(l.Commit(w.Context(), step(0)), state.ErrNotFrom)
	w.wantErr(l.Commit(w.Context(), step(5)), state.ErrNotFrom)
	// The lease goes on, and so does the chain.
	w.must(l.Commit(w.Context(), step(1)))
	w.wantStored(1, true, at(2))
}

func (w *world) operations() {
	in := w.instance()
	want := func(what string, loads, creates, replaces int) {
		w.Helper()
		l, c, r := in.store.Counts(Load), in.store.Counts(Create), in.store.Counts(Replace)
		if l != loads || c != creates || r != replaces {
			w.Errorf("%s: %d loads, %d creations, %d replacements; want %d, %d, %d", what, l, c, r, loads, creates, replaces)
		}
	}
	w.create(in)
	want("create", 0, 1, 0)
	s, err := in.Load(w.Context())
	w.must(err)
	if held := s.Held(); held != nil {
		w.Error(held)
	}
	want("an idle tick", 1, 0, 0)
	l := w.acquire(in, s)
	w.must(l.Check())
	want("acquire", 0, 0, 1)
	c := step(0)
	c.Release = true
	w.must(l.Commit(w.Context(), c))
	w.must(l.Release(w.Context()))
	want("commit with release", 0, 0, 1)
}

func (w *world) race() {
	s := w.create(w.instance())
	instances := make([]instance, racers)
	for i := range instances {
		instances[i] = w.instance()
	}
	var won, held atomic.Int32
	leases := make([]*state.Lease, racers)
	var wg sync.WaitGroup
	for i, in := range instances {
		wg.Go(func() {
			l, err := in.Acquire(w.Context(), s)
			var heldErr *state.HeldError
			switch {
			case err == nil:
				leases[i] = l
				won.Add(1)
			case errors.As(err, &heldErr):
				held.Add(1)
			default:
				w.Errorf("acquire: %v", err)
			}
		})
	}
	wg.Wait()
	for _, l := range leases {
		if l != nil {
			w.must(l.Release(w.Context()))
		}
	}
	if won.Load() != 1 || held.Load() != racers-1 {
		w.Errorf("%d won, %d were told who holds it", won.Load(), held.Load())
	}
	w.wantStored(1, false, nil)
}

func (w *world) takeover() {
	dead, heir := w.instance(), w.instance()
	old := w.acquire(dead, w.create(dead))
	w.must(old.Commit(w.Context(), step(0)))
	dead.store.Crash()
	s := w.waitFree(heir)
	// The holder's right ended before anybody could follow.
	w.wantErr(old.Check(), state.ErrExpired)
	l := w.acquire(heir, s)
	if from := s.Doc.Checkpoint.Cursor; l.Token() != 2 || !from.Equal(at(1)) {
		w.Errorf("token %d, cursor %s", l.Token(), from)
	}
	w.wantErr(old.Commit(w.Context(), step(1)), state.ErrExpired)
	w.must(l.Commit(w.Context(), step(1)))
	w.wantStored(2, true, at(2))
}

// waitFree waits as long as the document says that one has to.
func (w *world) waitFree(in instance) *state.Snapshot {
	w.Helper()
	for {
		s, err := in.Load(w.Context())
		w.must(err)
		held := s.Held()
		if held == nil {
			return s
		}
		<-time.After(held.ExpiresIn)
	}
}

func (w *world) releaseExpired() {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	in.store.Cut(true)
	<-l.Context().Done()
	w.wantErr(context.Cause(l.Context()), state.ErrExpired)
	w.wantErr(l.Commit(w.Context(), step(0)), state.ErrExpired)
	in.store.Cut(false)
	w.must(l.Release(w.Context()))
	w.must(l.Release(w.Context()))
	w.wantStored(1, false, nil)
}
