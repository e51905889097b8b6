package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// parkUnder stores an object and names it in a commit that moves nothing and carries no batch.
func (w *world) parkUnder(fault Fault, times int) {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	w.must(l.Commit(w.Context(), step(0)))
	for round := range 2 {
		content := bytes.Repeat([]byte{byte(round), 0xff}, 1000)
		in.store.FailNext(Create, fault, times)
		name, err := l.PutObject(w.Context(), "parked", content)
		w.must(err)
		in.store.FailNext(Load, fault, min(times, 1)) // a read has one way to fail
		got, err := in.Object(w.Context(), name)
		w.must(err)
		if !bytes.Equal(got, content) {
			w.Errorf("%s holds %d bytes that differ", name, len(got))
		}
		in.store.FailNext(Replace, fault, times)
		w.must(l.Commit(w.Context(), state.Commit{From: at(1), To: at(1),
			Parked: &state.ObjectRef{Object: name, Count: round + 1}}))
		in.store.Land()
		doc := w.stored()
		if doc.Parked != (state.ObjectRef{Object: name, Count: round + 1}) || !slices.Contains(doc.Requires, "parked") {
			w.Errorf("stored %+v, requires %q", doc.Parked, doc.Requires)
		}
		if known := l.Known(); known.Parked != doc.Parked || known.Lease.WriteSeq != doc.Lease.WriteSeq {
			w.Errorf("the lease knows %+v, write %d, stored is write %d", known.Parked, known.Lease.WriteSeq, doc.Lease.WriteSeq)
		}
		if at := doc.Checkpoint; at.LastBatchID != "batch_1" || at.RowCount != 10 {
			w.Errorf("a commit without a batch changed it: %+v", at)
		}
	}
	w.wantStored(1, true, at(1))
	w.must(l.Commit(w.Context(), state.Commit{From: at(1), To: at(2), BatchID: "b", Parked: &state.ObjectRef{}}))
	if doc := w.stored(); doc.Parked != (state.ObjectRef{}) || len(doc.Requires) > 0 {
		w.Errorf("parked %+v, requires %q after the last one", doc.Parked, doc.Requires)
	}
	if _, err := in.Object(w.Context(), "objects/shop/orders/parked-none"); !errors.Is(err, state.ErrNotFound) {
		w.Errorf("an object that is not there: %v", err)
	}
}

const foreign = "objects/shop/orders.audit/parked-x"

// collectUnder leaves what the document names, what is kept, and what belongs to others; also from an earlier life.
func (w *world) collectUnder(fault Fault, times int) {
	earlier, in := w.instance(), w.instance()
	dying := w.acquire(earlier, w.create(earlier))
	old, err := dying.PutObject(w.Context(), "memory", []byte("left by a crash"))
	w.must(err)
	for _, key := range []string{foreign, "deadletters/shop/orders/e1.json"} {
		_, err := w.history.Create(w.Context(), key, []byte("{}"))
		w.must(err)
	}
	w.must(dying.Release(w.Context()))
	s, err := in.Load(w.Context())
	w.must(err)
	l := w.acquire(in, s)
	var names []string
	for range 5 {
		name, err := l.PutObject(w.Context(), "memory", []byte("x"))
		w.must(err)
		names = append(names, name)
	}
	w.must(l.Commit(w.Context(), state.Commit{Parked: &state.ObjectRef{Object: names[0]},
		Late: &state.Late{Memory: state.ObjectRef{Object: names[1]}, Journal: state.Journal{Pages: names[2:3]}}}))
	for i, op := range []Op{List, Load, Delete} {
		if i > 0 { // one that this process did not write, and one that it did
			old = fmt.Sprintf("objects/shop/orders/memory-%d", i)
			_, err := w.history.Create(w.Context(), old, []byte("left by a crash"))
			w.must(err)
			names[4], err = l.PutObject(w.Context(), "memory", []byte("x"))
			w.must(err)
		}
		in.store.FailNext(op, fault, times)
		w.must(l.Collect(w.Context(), names[3]))
		in.store.Land()
		for i, name := range append(slices.Clone(names), old) {
			_, err := w.history.Load(w.Context(), name)
			if kept := i < 4; kept && err != nil || !kept && !errors.Is(err, state.ErrNotFound) {
				w.Errorf("%s under %s: object %d: %v", fault, op, i, err)
			}
		}
	}
	for _, key := range []string{foreign, "deadletters/shop/orders/e1.json"} {
		if _, err := w.history.Load(w.Context(), key); err != nil {
			w.Errorf("%s: %v", key, err)
		}
	}
}

// collectLost: the one object is about to be named by the new holder when the old one, who does not know yet, collects.
func (w *world) collectLost() {
	in, thief, operator := w.instance(), w.instance(), w.instance()
	l := w.acquire(in, w.create(in))
	own, err := l.PutObject(w.Context(), "parked", []byte("mine"))
	w.must(err)
	shown, err := operator.Load(w.Context())
	w.must(err)
	broken, err := operator.BreakLease(w.Context(), shown)
	w.must(err)
	other := w.acquire(thief, broken)
	theirs, err := other.PutObject(w.Context(), "parked", []byte("theirs"))
	w.must(err)
	w.must(l.Check()) // it does not know
	w.must(l.Collect(w.Context()))
	w.must(other.Commit(w.Context(), state.Commit{Parked: &state.ObjectRef{Object: theirs, Count: 1}}))
	if _, err := thief.Object(w.Context(), theirs); err != nil {
		w.Errorf("the new holder's object: %v", err)
	}
	if _, err := thief.Object(w.Context(), own); !errors.Is(err, state.ErrNotFound) {
		w.Errorf("the old holder's own object, which nobody names: %v", err)
	}
}

// collectReleased: the lease was given back, and an operator is about to name an object when the clean-up after it
// runs; from another process, or from the same one. Without a lease nobody can write an object.
func (w *world) collectReleased() {
	in, other := w.instance(), w.instance()
	l := w.acquire(in, w.create(in))
	for _, operator := range []instance{in, other} {
		left, err := l.PutObject(w.Context(), "parked", []byte("left"))
		w.must(err)
		w.must(l.Release(w.Context()))
		_, err = l.PutObject(w.Context(), "parked", []byte("too late"))
		w.wantErr(err, state.ErrReleased)
		s, err := operator.Load(w.Context())
		w.must(err)
		next := w.acquire(operator, s)
		named, err := next.PutObject(w.Context(), "parked", []byte("named"))
		w.must(err)
		w.must(l.Collect(w.Context()))
		w.must(next.Commit(w.Context(), state.Commit{Parked: &state.ObjectRef{Object: named, Count: 1}}))
		if _, err := operator.Object(w.Context(), named); err != nil {
			w.Errorf("what the next holder has named: %v", err)
		}
		if _, err := operator.Object(w.Context(), left); !errors.Is(err, state.ErrNotFound) {
			w.Errorf("what this lease has left behind: %v", err)
		}
		l = next
	}
}

func pause(doc *state.Document) error {
	if doc.Paused != nil {
		return errors.New("paused already")
	}
	doc.Paused = &state.Paused{By: "ann"}
	// What the holder keeps is not the operator's to change.
	doc.Checkpoint.Cursor, doc.Lease.FencingToken, doc.PollerName = at(77), 0, "x"
	return nil
}

// amendUnder pauses under a live lease: the holder's next commit meets it, and loses nothing.
func (w *world) amendUnder(fault Fault, times int) {
	in, operator := w.instance(), w.instance()
	l := w.acquire(in, w.create(in))
	w.must(l.Commit(w.Context(), step(0)))
	operator.store.FailNext(Replace, fault, times)
	s, err := operator.Amend(w.Context(), pause)
	w.must(err)
	operator.store.Land()
	if s.Doc.Paused == nil || s.Doc.Paused.By != "ann" || s.Doc.PollerName != "orders" {
		w.Errorf("shown %+v", s.Doc)
	}
	if l.Known().Paused != nil {
		w.Error("the holder knows before it looked")
	}
	w.must(l.Commit(w.Context(), step(1)))
	if known := l.Known(); known.Paused == nil || !known.Checkpoint.Cursor.Equal(at(2)) {
		w.Errorf("after its commit the holder knows %+v", known)
	}
	w.wantStored(1, true, at(2))
	if doc := w.stored(); doc.Paused == nil || !slices.Contains(doc.Requires, "paused") {
		w.Errorf("stored %+v", doc)
	}
	refused := errors.New("no")
	_, err = operator.Amend(w.Context(), func(*state.Document) error { return refused })
	w.wantErr(err, refused)
	_, err = operator.Amend(w.Context(), func(doc *state.Document) error {
		doc.Backfill = &state.Backfill{ID: "b", From: change.Cursor("17")}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no state document can hold this: backfill.from: not a cursor") {
		w.Errorf("amending with what is no cursor: %v", err)
	}
	_, err = operator.Amend(w.Context(), func(doc *state.Document) error { doc.Paused = nil; return nil })
	w.must(err)
	w.must(l.Release(w.Context()))
	if doc := w.stored(); doc.Paused != nil || len(doc.Requires) > 0 {
		w.Errorf("stored %+v", doc)
	}
}

// breakUnder: what the holder stored before the break is stored, what it writes after it is refused, and the next token
// is above both.
func (w *world) breakUnder(fault Fault, times int) {
	in, operator, heir := w.instance(), w.instance(), w.instance()
	l := w.acquire(in, w.create(in))
	w.must(l.Commit(w.Context(), step(0)))
	shown, err := operator.Load(w.Context())
	w.must(err)
	w.must(l.Commit(w.Context(), step(1)))
	if _, err := operator.BreakLease(w.Context(), shown); !errors.Is(err, state.ErrConflict) {
		w.Errorf("breaking what was not shown: %v", err)
	}
	shown, err = operator.Load(w.Context())
	w.must(err)
	operator.store.FailNext(Replace, fault, times)
	s, err := operator.BreakLease(w.Context(), shown)
	w.must(err)
	operator.store.Land()
	w.wantStored(2, false, at(2))
	w.wantErr(l.Commit(w.Context(), state.Commit{From: at(2), To: at(2), Late: &state.Late{Mode: "overlap"}}),
		state.ErrLost)
	w.wantErr(l.Check(), state.ErrLost)
	w.wantErr(context.Cause(l.Context()), state.ErrLost)
	w.wantErr(l.Release(w.Context()), state.ErrLost)
	if other := w.acquire(heir, s); other.Token() != 3 {
		w.Errorf("the next token is %d", other.Token())
	}
	w.wantStored(3, true, at(2))
}

func (w *world) cloneUnder(fault Fault, times int) {
	in := w.instance()
	l := w.acquire(in, w.create(in))
	w.must(l.Commit(w.Context(), state.Commit{
		To: at(3), BatchID: "b", Rows: 3, Parked: &state.ObjectRef{Object: "objects/shop/orders/parked-x", Count: 1},
		Late: &state.Late{Mode: "overlap", Frontier: at(9), Memory: state.ObjectRef{Object: "objects/shop/orders/memory-x"}},
	}))
	store := NewFaulty(w.history)
	k, err := state.New(state.Config{Store: store, Key: "state/shop/copy.json", Poller: "copy", Owner: "cli", TTL: w.ttl})
	w.must(err)
	store.FailNext(Create, fault, times)
	s, err := k.Clone(w.Context(), w.stored())
	w.must(err)
	store.Land()
	doc := s.Doc
	if doc.PollerName != "copy" || !doc.Checkpoint.Cursor.Equal(at(3)) || doc.SourceFingerprint != "sha256:f" ||
		doc.Checkpoint.Incarnation != "life-1" {
		w.Errorf("the clone is %+v", doc)
	}
	if doc.Parked.Object != "" || doc.Late.Memory.Object != "" || doc.Late.Mode != "overlap" ||
		doc.Lease.FencingToken != 0 || s.Held() != nil {
		w.Errorf("the clone took what is not its own: %+v", doc)
	}
	if _, err := k.Clone(w.Context(), w.stored()); !errors.Is(err, state.ErrConflict) {
		w.Errorf("cloning over a document: %v", err)
	}
}

// backfills: progress and end touch only the backfill that was meant.
func (w *world) backfills() {
	in, operator := w.instance(), w.instance()
	l := w.acquire(in, w.create(in))
	begin := func(id string) {
		w.Helper()
		_, err := operator.Amend(w.Context(), func(doc *state.Document) error {
			doc.Backfill = nil
			if id != "" {
				doc.Backfill = &state.Backfill{ID: id, To: at(9), Total: 9, By: "ann"}
			}
			return nil
		})
		w.must(err)
	}
	commit := func(b state.Backfill, ends string) {
		w.Helper()
		w.must(l.Commit(w.Context(), state.Commit{Backfill: &b, Ends: ends}))
	}
	want := func(id string, done int64) {
		w.Helper()
		b := w.stored().Backfill
		if id == "" && b == nil {
			return
		}
		if b == nil || b.ID != id || b.Done != done {
			w.Errorf("stored %+v, want %q with %d done", b, id, done)
		}
	}
	begin("one")
	commit(state.Backfill{ID: "one", To: at(9), At: at(4), Done: 4, Total: 9}, "")
	want("one", 4)
	begin("") // stopped
	commit(state.Backfill{ID: "one", To: at(9), At: at(5), Done: 5, Total: 9}, "")
	want("", 0)
	begin("two")
	commit(state.Backfill{ID: "one", To: at(9), At: at(6), Done: 6, Total: 9}, "")
	want("two", 0)
	commit(state.Backfill{}, "one") // the holder ends what it began
	want("two", 0)
	w.must(l.Commit(w.Context(), step(0))) // it meets the second
	begin("three")
	// ends what it knows: the second
	w.must(l.Commit(w.Context(), state.Commit{From: at(1), To: at(1), Backfill: &state.Backfill{}}))
	want("three", 0)
	w.must(l.Commit(w.Context(), state.Commit{From: at(1), To: at(1), Backfill: &state.Backfill{}}))
	want("", 0)
}
