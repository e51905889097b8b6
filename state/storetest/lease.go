package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// Lease says how to run the suite of leases over a store.
type Lease struct {
	Open func(t *testing.T) state.Store
	// TTL is the leases' ttl where nothing has to expire; ShortTTL where the test waits for it.
	TTL, ShortTTL time.Duration
	// FakeTime runs each test in a bubble of testing/synctest: for a store that talks to nobody (files are read at once).
	FakeTime bool
}

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

const key = "state/shop/orders.json"

// world is one document and the instances that contend for it.
type world struct {
	*testing.T
	history *History
	ttl     time.Duration
	n       int
}

func newWorld(t *testing.T, store state.Store, ttl time.Duration) *world {
	return &world{T: t, history: NewHistory(store), ttl: ttl}
}

// instance is one process: its own way to the store.
type instance struct {
	*state.Keeper
	store *Faulty
}

func (w *world) instance() instance {
	w.Helper()
	w.n++
	store := NewFaulty(w.history)
	keeper, err := state.New(state.Config{
		Store: store, Key: key, Poller: "orders", Owner: fmt.Sprintf("shop/%d", w.n), TTL: w.ttl,
	})
	w.must(err)
	return instance{keeper, store}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wantErr(err, target error) {
	w.Helper()
	if !errors.Is(err, target) {
		w.Errorf("got error %v, want %v", err, target)
	}
}

func (w *world) create(in instance) *state.Snapshot {
	w.Helper()
	s, err := in.Create(w.Context(), "sha256:f", "life-1", nil)
	w.must(err)
	return s
}

func (w *world) acquire(in instance, s *state.Snapshot) *state.Lease {
	w.Helper()
	l, err := in.Acquire(w.Context(), s)
	w.must(err)
	// The clean-up of a test that failed; a crashed instance's has no effect.
	w.Cleanup(func() { _ = l.Release(context.Background()) })
	return l
}

// stored reads the document past every failpoint.
func (w *world) stored() state.Document {
	w.Helper()
	stored, err := w.history.Load(w.Context(), key)
	w.must(err)
	doc, err := state.Decode(stored.Data)
	w.must(err)
	return doc
}

// edit changes the document as an operator would.
func (w *world) edit(change func(data []byte) []byte) {
	w.Helper()
	stored, err := w.history.Load(w.Context(), key)
	w.must(err)
	_, err = w.history.Replace(w.Context(), key, change(stored.Data), stored.Version)
	w.must(err)
}

func (w *world) wantStored(token uint64, owned bool, cursor change.Cursor) {
	w.Helper()
	doc := w.stored()
	if doc.Lease.FencingToken != token || (doc.Lease.OwnerID != "") != owned || !doc.Checkpoint.Cursor.Equal(cursor) {
		w.Errorf("stored: token %d, owner %q, cursor %s; want token %d, owned %t, cursor %s",
			doc.Lease.FencingToken, doc.Lease.OwnerID, doc.Checkpoint.Cursor, token, owned, cursor)
	}
}

// at is the n-th position; 0 is the beginning. Its JSON holds what encoding/json would rewrite.
func at(n int) change.Cursor {
	if n == 0 {
		return nil
	}
	return change.Cursor(fmt.Sprintf(`{"kind":"int<&>","value":%d}`, n))
}

// step is the commit from position n to the next.
func step(n int) state.Commit {
	return state.Commit{From: at(n), To: at(n + 1), BatchID: fmt.Sprintf("batch_%d", n+1), Rows: 10}
}
