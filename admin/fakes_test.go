package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// table is a source of rows 1 to last, whose cursor and key are their number.
type table struct {
	checkpointed.Source // what is not needed here
	last                int
	gone                map[int]bool // deleted, as far as Reread shows
	unreadable          int          // it has no place in the order
	now                 checkpointed.Description
	incarnation         string
	ahead               error
	err                 error // of counting
}

func at(n int) change.Cursor { return change.Cursor(fmt.Sprintf(`{"kind":"int","value":%d}`, n)) }

func number(c change.Cursor) (n int) {
	if !c.IsStart() {
		_, _ = fmt.Sscanf(string(c), `{"kind":"int","value":%d}`, &n)
	}
	return n
}

func keyOf(n int) []byte { return fmt.Appendf(nil, `{"id":%d}`, n) }

func (s *table) Describe(context.Context) (checkpointed.Description, error) { return s.now, nil }

func (s *table) Start(context.Context) (change.Cursor, string, error) { return nil, s.incarnation, nil }

func (s *table) Fetch(context.Context, change.Range, poller.Limit) (change.Page, error) {
	return change.Page{}, nil
}

func (s *table) Compare(was, is string) (checkpointed.Relation, string) {
	if was == is {
		return checkpointed.SameDatabase, is
	}
	return checkpointed.AnotherDatabase, is
}

func (s *table) Reread(_ context.Context, keys [][]byte) (found []change.Event, err error) {
	for _, key := range keys {
		var k struct{ ID int }
		if err := json.Unmarshal(key, &k); err != nil {
			return nil, poller.ErrConfig
		}
		if k.ID == s.unreadable && k.ID > 0 {
			return nil, fmt.Errorf("%w: it has no place in the order", poller.ErrNormalize)
		}
		if k.ID <= s.last && !s.gone[k.ID] {
			found = append(found, change.Event{ID: fmt.Sprint("e", k.ID), Key: key, OrderKey: key})
		}
	}
	return found, nil
}

func (s *table) Count(_ context.Context, r change.Range) (int64, error) {
	end := s.last
	if !r.UpTo.IsStart() {
		end = min(end, number(r.UpTo))
	}
	return int64(max(0, end-number(r.After))), s.err
}

func (s *table) CountUpTo(ctx context.Context, r change.Range, most int) (int64, error) {
	n, err := s.Count(ctx, r)
	return min(n, int64(most)), err
}

func (s *table) Latest(context.Context) (change.Cursor, error) { return at(s.last), nil }

func (s *table) Position(_ context.Context, value string, _ map[string]string, _ string) (change.Cursor, error) {
	var n int
	if _, err := fmt.Sscan(value, &n); err != nil {
		return nil, err
	}
	return at(n), nil
}

func (s *table) Before(_ context.Context, row change.Cursor) (change.Cursor, bool, error) {
	return at(number(row) - 1), number(row) > 0, nil
}

func (s *table) Ahead(_ context.Context, c change.Cursor) (bool, error) {
	return number(c) > s.last, s.err
}

func (s *table) Snapshot(context.Context) (checkpointed.Snapshot, error) {
	return checkpointed.Snapshot{After: at(s.last), Rows: change.Range{After: at(0), UpTo: at(s.last)},
		Count: int64(s.last), Incarnation: s.incarnation}, nil
}

func (s *table) Gap(context.Context, change.Cursor) error { return s.ahead }

// fixture is a document at row 5 of 10, and what was written to the log.
type fixture struct {
	*Document
	t     *testing.T
	table *table
	log   bytes.Buffer
	// logger is one for all documents of the fixture: it keeps their lines apart where several are at work.
	logger *slog.Logger
}

// gap records a gap, as a tick does.
func (f *fixture) gap(why string) {
	f.t.Helper()
	snap, err := f.Keeper.Load(f.t.Context())
	if err == nil {
		_, err = f.Keeper.Edit(f.t.Context(), snap, func(doc *state.Document) { doc.Checkpoint.Gap = why })
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, table: &table{
		last: 10, incarnation: "db1", gone: map[int]bool{},
		now: checkpointed.Description{Fingerprint: "sha256:1", Late: late.None},
	}}
	f.logger = slog.New(slog.NewTextHandler(&f.log, nil))
	f.Document = f.document(memstore.New(), "orders")
	if _, err := f.Keeper.Create(t.Context(), "sha256:1", "db1", at(5)); err != nil {
		t.Fatal(err)
	}
	return f
}

// document is that of a poller, which may not be there.
func (f *fixture) document(store state.Store, name string) *Document {
	key := state.Key("shop", name, "")
	keeper, err := state.New(state.Config{Store: store, Key: key, Poller: name, Owner: "shop/test", TTL: time.Minute})
	if err != nil {
		f.t.Fatal(err)
	}
	return &Document{
		App: "shop", Poller: name, Key: key, Keeper: keeper, Store: store, Letters: deadletter.NewStore(store),
		Source: f.table, Positions: f.table, Ordering: poller.OrderKey, MaxParked: 3, By: "ann",
		Log: f.logger,
	}
}

// doc is the document as it is stored.
func (f *fixture) doc() *state.Document {
	f.t.Helper()
	snap, err := f.Keeper.Load(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return &snap.Doc
}

// pausedBy puts a pause into the document, or takes it out.
func (f *fixture) pausedBy(p *state.Paused) {
	f.t.Helper()
	if _, err := f.Keeper.Amend(f.t.Context(), func(doc *state.Document) error {
		doc.Paused = p
		return nil
	}); err != nil {
		f.t.Fatal(err)
	}
}

// rawKeys are the keys of rows.
func rawKeys(rows ...int) (keys []json.RawMessage) {
	for _, n := range rows {
		keys = append(keys, keyOf(n))
	}
	return keys
}

// held takes the lease, as an instance does.
func (f *fixture) held() *state.Lease {
	f.t.Helper()
	snap, err := f.Keeper.Load(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	lease, err := f.Keeper.Acquire(f.t.Context(), snap)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = lease.Release(context.WithoutCancel(f.t.Context())) })
	return lease
}

// apply carries a plan out.
func (f *fixture) apply(p *Plan, err error) Result {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := p.Apply(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// logged fails unless an event with these members was written to the log.
func (f *fixture) logged(event string, members ...string) {
	f.t.Helper()
	for line := range strings.Lines(f.log.String()) {
		found := strings.Contains(line, "event="+event+" ") && strings.Contains(line, "by=ann")
		for _, m := range members {
			found = found && strings.Contains(line, m)
		}
		if found {
			return
		}
	}
	f.t.Errorf("no %s %q in the log:\n%s", event, members, &f.log)
}

// letter puts a dead letter into the store.
func (f *fixture) letter(n int) {
	f.t.Helper()
	err := deadletter.NewStore(f.Store).Put(f.t.Context(), poller.DeadLetter{
		App: "shop", Poller: "orders", Attempts: 5,
		Event: change.Event{ID: fmt.Sprint("e", n), Key: keyOf(n), OrderKey: keyOf(n), Cursor: at(n),
			Row: []byte(`{"id":1}`)},
		Cause: poller.Refused, Status: 422, Reason: "no",
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// accepts notes that the destination accepted an event.
func (f *fixture) accepts() {
	f.t.Helper()
	lease := f.held()
	at := lease.Known().Checkpoint.Cursor
	commit := state.Commit{From: at, To: at, Accepted: time.Now(), Release: true}
	if err := lease.Commit(f.t.Context(), commit); err != nil {
		f.t.Fatal(err)
	}
}

// parks parks rows, without a dead letter.
func (f *fixture) parks(entries ...parking.Entry) {
	f.t.Helper()
	lease := f.held()
	ref, err := parking.Save(f.t.Context(), entries, lease.PutObject)
	if err == nil {
		err = lease.Commit(f.t.Context(), state.Commit{From: at(5), To: at(5), Parked: ref, Release: true})
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// parkedKeys are the keys of the parked rows, those that wait behind others included.
func (f *fixture) parkedKeys() (keys []string) {
	f.t.Helper()
	entries, err := parking.Read(f.t.Context(), f.Keeper, f.doc())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		keys = append(keys, string(e.Key))
		for _, k := range e.Followers {
			keys = append(keys, string(k))
		}
	}
	return keys
}

// nothingToDo fails unless an error says that there was nothing to do.
func nothingToDo(t *testing.T, err error, why string) {
	t.Helper()
	if n := new(Nothing); !errors.As(err, &n) || !strings.Contains(n.Why, why) {
		t.Errorf("%v, want nothing to do: %s", err, why)
	}
}

// refused fails unless an error refuses something with a remedy.
func refused(t *testing.T, err error, remedy string) {
	t.Helper()
	if r := new(Refusal); !errors.As(err, &r) || !strings.Contains(r.Remedy, remedy) ||
		!strings.HasSuffix(r.Error(), ": "+r.Remedy) {
		t.Errorf("%v, want a refusal with the remedy: %s", err, remedy)
	}
}
