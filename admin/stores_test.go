package admin_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

const movedKey = "state/shop/orders.json"

// movable is a store with one document at position 3, whose parked events lie in an object.
func movable(t *testing.T) *memstore.Store {
	t.Helper()
	store := memstore.New()
	l := holding(t, store)
	object, err := l.PutObject(t.Context(), "parked", []byte("parked"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context(), state.Commit{To: change.Cursor(`{"kind":"int","value":3}`), BatchID: "b", Rows: 3,
		Parked: &state.ObjectRef{Object: object, Count: 1}, Release: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), "deadletters/shop/orders/x.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	return store
}

// holding takes the lease of the document, which it makes where there is none.
func holding(t *testing.T, store state.Store) *state.Lease {
	t.Helper()
	k, err := state.New(state.Config{Store: store, Key: movedKey, Poller: "orders", Owner: "shop/1", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s, err := k.Load(t.Context())
	if errors.Is(err, state.ErrNotFound) {
		s, err = k.Create(t.Context(), "sha256:f", "life-1", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := k.Acquire(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func moveStore(t *testing.T, from, to state.Store) error {
	t.Helper()
	return moveStoreTo(t, from, to, "elsewhere")
}

func moveStoreTo(t *testing.T, from, to state.Store, name string) error {
	t.Helper()
	m := &admin.StoreMove{From: from, To: to, Name: name, App: "shop", By: "ann",
		Log: slog.New(slog.DiscardHandler)}
	plan, err := m.Plan(t.Context())
	if err == nil {
		_, err = plan.Apply(t.Context())
	}
	return err
}

func documentOf(t *testing.T, store state.Store) state.Document {
	t.Helper()
	stored, err := store.Load(t.Context(), movedKey)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := state.Decode(stored.Data)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestMoveStore: position, parked events and dead letters come along, tokens go on, and where they were nobody goes on.
// The way back is the same.
func TestMoveStore(t *testing.T) {
	from, to := movable(t), memstore.New()
	for range 2 { // the second time it finds its own work
		if err := moveStore(t, from, to); err != nil {
			t.Fatal(err)
		}
	}
	was, is := documentOf(t, from), documentOf(t, to)
	if was.Paused == nil || !strings.Contains(was.Paused.By, "elsewhere") || was.Lease.OwnerID != "" {
		t.Errorf("where it was: %+v", was)
	}
	if is.Paused != nil || is.Lease.OwnerID != "" || !is.Checkpoint.Cursor.Equal(was.Checkpoint.Cursor) ||
		is.Parked != was.Parked || is.SourceFingerprint != "sha256:f" {
		t.Errorf("where it is: %+v", is)
	}
	for _, key := range []string{is.Parked.Object, "deadletters/shop/orders/x.json"} {
		if _, err := to.Load(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	l := holding(t, to)
	if l.Token() <= was.Lease.FencingToken {
		t.Errorf("token %d after %d", l.Token(), was.Lease.FencingToken)
	}
	if err := l.Commit(t.Context(), state.Commit{From: is.Checkpoint.Cursor, To: change.Cursor(`{"kind":"int","value":5}`),
		BatchID: "c", Rows: 2, Release: true}); err != nil {
		t.Fatal(err)
	}
	if err := moveStore(t, to, from); err != nil {
		t.Fatal(err)
	}
	if back := documentOf(t, from); back.Paused != nil || string(back.Checkpoint.Cursor) != `{"kind":"int","value":5}` ||
		back.Lease.FencingToken < l.Token() {
		t.Errorf("back again: %+v", back)
	}
}

// TestMoveStoreWhileHeld: the holder is asked to stop, and nothing is copied before it has.
func TestMoveStoreWhileHeld(t *testing.T) {
	from, to := movable(t), memstore.New()
	l := holding(t, from)
	var held *state.HeldError
	if err := moveStore(t, from, to); !errors.As(err, &held) || !strings.Contains(err.Error(), "run this again") {
		t.Errorf("%v", err)
	}
	if keys, err := to.List(t.Context(), ""); err != nil || len(keys) > 0 {
		t.Errorf("copied: %q, %v", keys, err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := moveStore(t, from, to); err != nil || documentOf(t, to).Paused != nil {
		t.Errorf("%v", err)
	}
}

// TestMoveStoreCutOff: where a dead letter cannot be copied, the document is not there either. Otherwise a poller could
// be started there, after which no move would bring the dead letters.
func TestMoveStoreCutOff(t *testing.T) {
	from, to := movable(t), storetest.NewFaulty(memstore.New())
	to.FailNext(storetest.Create, storetest.NotDone, 1)
	if err := moveStore(t, from, to); !errors.Is(err, storetest.ErrInjected) ||
		!strings.Contains(err.Error(), "run the command again") {
		t.Errorf("%v", err)
	}
	if keys, err := to.List(t.Context(), "state/"); err != nil || len(keys) > 0 {
		t.Errorf("copied: %q, %v", keys, err)
	}
	if err := moveStore(t, from, to); err != nil || documentOf(t, to).Paused != nil {
		t.Errorf("%v", err)
	}
}

// TestMoveStoreOverAnother: a document that was used is not written over.
func TestMoveStoreOverAnother(t *testing.T) {
	from, to := movable(t), memstore.New()
	if err := holding(t, to).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := moveStore(t, from, to); err == nil || !strings.Contains(err.Error(), "nothing is written over it") {
		t.Errorf("%v", err)
	}
	if doc := documentOf(t, to); doc.Checkpoint.Cursor != nil {
		t.Errorf("%+v", doc)
	}
}

// TestMoveStoreOntoItself: a store under another name is refused. The pause of a document that was moved elsewhere
// would end, and instances with the old settings would go on.
func TestMoveStoreOntoItself(t *testing.T) {
	from := movable(t)
	if err := moveStore(t, from, memstore.New()); err != nil {
		t.Fatal(err)
	}
	if err := moveStore(t, from, from); err == nil || !strings.Contains(err.Error(), "There is nothing to move") {
		t.Errorf("%v", err)
	}
	if documentOf(t, from).Paused == nil {
		t.Error("it goes on where it was")
	}
}

// TestMoveStoreTwice: what was moved to one store is not moved to another from where it was: it would go on in both.
func TestMoveStoreTwice(t *testing.T) {
	from, third := movable(t), memstore.New()
	if err := moveStore(t, from, memstore.New()); err != nil {
		t.Fatal(err)
	}
	if err := moveStoreTo(t, from, third, "else"); err == nil || !strings.Contains(err.Error(), "moved elsewhere before") {
		t.Errorf("%v", err)
	}
	if keys, err := third.List(t.Context(), ""); err != nil || len(keys) > 0 {
		t.Errorf("copied: %q, %v", keys, err)
	}
}

// TestMoveStoreKeepsAPause: who was paused by a person stays so. The pause of a replay ends by itself, and is none:
// where it was, instances with the old settings would go on.
func TestMoveStoreKeepsAPause(t *testing.T) {
	for by, want := range map[string]string{"bob": "bob", "bob, for a replay": ""} {
		from, to := movable(t), memstore.New()
		k, err := state.New(state.Config{Store: from, Key: movedKey, Poller: "orders", Owner: "cli", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Amend(t.Context(), func(doc *state.Document) error {
			doc.Paused = &state.Paused{At: time.Now(), By: by}
			if want == "" {
				doc.Paused.Until = time.Now().Add(-time.Minute)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := moveStore(t, from, to); err != nil {
			t.Fatal(err)
		}
		got := ""
		if p := documentOf(t, to).Paused; p != nil {
			got = p.By
		}
		if here := documentOf(t, from).Paused; got != want || here == nil || !here.Until.IsZero() {
			t.Errorf("paused by %q: there by %q, here %+v", by, got, here)
		}
	}
}

// TestMoveStoreToWhatIsMissing: the store's words name a setting, which is one of the store that is moved to.
func TestMoveStoreToWhatIsMissing(t *testing.T) {
	err := moveStore(t, movable(t), missing{memstore.New()})
	const want = "the settings of elsewhere follow --to, as in --to state__create=true"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// missing is a store whose table nobody has made.
type missing struct{ state.Store }

func (missing) Load(context.Context, string) (state.Stored, error) {
	return state.Stored{}, &state.PermanentError{Err: errors.New("the table does not exist: set state__create=true")}
}
