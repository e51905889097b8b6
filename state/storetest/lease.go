package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
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
