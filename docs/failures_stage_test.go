package docs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// stage is a store, a source, an output and a place for dead letters, one of whose calls fails once.
type stage struct {
	mu    sync.Mutex
	store *memstore.Store
	step  step
	way   way
	bad   string // the row that the destination refuses
	late  late.Mode
	rows  []string

	armed, hit, crashed bool
	pending             func() // what happens later
	effects, letters    map[string]int
}

var errStep = errors.New("it failed")

// call makes one call of the first instance to the outside.
func (st *stage) call(first bool, s step, do func() error) error {
	st.mu.Lock()
	if first && st.crashed {
		st.mu.Unlock()
		return errStep
	}
	if !first || !st.armed || s != st.step {
		st.mu.Unlock()
		return do()
	}
	st.armed, st.hit, st.crashed = false, true, st.way.crashed
	if st.way.later {
		st.pending = func() { _ = do() } // its condition may not hold any more
	}
	st.mu.Unlock()
	if st.way.done {
		if err := do(); err != nil {
			return err
		}
	}
	return errStep
}

// settled reports whether every row has arrived, or was given up.
func (st *stage) settled() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, row := range st.rows {
		if st.effects[row] == 0 && st.letters[row] == 0 {
			return false
		}
	}
	return true
}

const failuresKey = "state/app/orders.json"

func (st *stage) keeper(t *testing.T, first bool) *state.Keeper {
	t.Helper()
	keeper, err := state.New(state.Config{
		Store: &stageStore{Store: st.store, stage: st, first: first}, Key: failuresKey, Poller: "orders", Owner: "app/test",
		TTL: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

// seed writes the first document.
func (st *stage) seed(t *testing.T) {
	t.Helper()
	if _, err := st.keeper(t, false).Create(t.Context(), "sha256:rows", "", nil); err != nil {
		t.Fatal(err)
	}
}

func (st *stage) instance(t *testing.T, first bool, attempts int) *poller.Relay {
	t.Helper()
	st.armed = first
	end := &stageEnd{stage: st, first: first}
	feed, err := checkpointed.New(checkpointed.Config{
		App: "app", Poller: "orders", Source: end, Keeper: st.keeper(t, first), Ordering: poller.OrderKey, DeadLetters: end,
		Policy:     poller.Policy{MaxAttempts: attempts, Delays: []time.Duration{time.Second}, MaxParked: 100},
		LateWindow: 2 * time.Minute, LateLimit: time.Minute, LateMemory: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	relay, err := poller.NewRelay(poller.Config{
		App: "app", Poller: "orders", Feed: feed, To: end, Ordering: poller.OrderKey, Concurrency: 1,
		Fetch: poller.Limit{Rows: 5000, Bytes: 1 << 20}, RequestEvents: 5000, RequestBytes: 1 << 20, RejectStatus: []int{422},
		Size: func(e *change.Event) int { return e.Size() }, Retries: 1, Timeout: 10 * time.Second, Budget: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return relay
}

// stageStore knows which step a call to the store is.
type stageStore struct {
	state.Store
	stage *stage
	first bool
}

func (s *stageStore) Load(ctx context.Context, key string) (stored state.Stored, err error) {
	if !strings.HasPrefix(key, "state/") {
		return s.Store.Load(ctx, key)
	}
	err = s.stage.call(s.first, readDocument, func() error { stored, err = s.Store.Load(ctx, key); return err })
	return stored, err
}

func (s *stageStore) Create(ctx context.Context, key string, data []byte) (stamp state.Stamp, err error) {
	at := createDocument
	switch {
	case strings.Contains(key, "/parked-"):
		at = writeParked
	case strings.Contains(key, "/memory-"):
		at = writeMemory
	}
	err = s.stage.call(s.first, at, func() error {
		stamp, err = s.Store.Create(context.WithoutCancel(ctx), key, data)
		return err
	})
	return stamp, err
}

func (s *stageStore) Replace(ctx context.Context, key string, data []byte, version state.Version) (stamp state.Stamp,
	err error) {
	at := takeLease
	if doc, decodeErr := state.Decode(data); decodeErr == nil && (doc.Lease.OwnerID == "" || doc.Lease.WriteSeq > 1) {
		at = commit
	}
	err = s.stage.call(s.first, at, func() error {
		stamp, err = s.Store.Replace(context.WithoutCancel(ctx), key, data, version)
		return err
	})
	return stamp, err
}

func (s *stageStore) Delete(ctx context.Context, key string, version state.Version) error {
	return s.stage.call(s.first, deleteObject, func() error {
		return s.Store.Delete(context.WithoutCancel(ctx), key, version)
	})
}

// stageEnd is an instance's source, output and dead letters.
type stageEnd struct {
	stage *stage
	first bool
}

func (*stageEnd) Compare(_, is string) (checkpointed.Relation, string) {
	return checkpointed.SameDatabase, is
}

func (*stageEnd) Replaced(context.Context, change.Cursor, string, string) (string, error) {
	return "", nil
}

func (e *stageEnd) Describe(context.Context) (checkpointed.Description, error) {
	mode := e.stage.late
	if mode == "" {
		mode = late.None
	}
	return checkpointed.Description{Fingerprint: "sha256:rows", Engine: "test", Table: "rows", Late: mode}, nil
}

func (e *stageEnd) Start(context.Context) (change.Cursor, string, error) { return nil, "", nil }

func (e *stageEnd) Horizon(context.Context) (change.Horizon, error) {
	return change.Horizon{Now: time.Now()}, nil
}

func (e *stageEnd) event(i int) change.Event {
	row := e.stage.rows[i]
	key := fmt.Appendf(nil, `{"id":%q}`, row)
	return change.Event{ID: row, Key: key, OrderKey: key, Row: key,
		Cursor: change.Cursor(fmt.Sprintf(`{"kind":"test","value":%d}`, i+1)), Time: time.Now()}
}

func at(c change.Cursor) (n int) {
	if !c.IsStart() {
		if _, err := fmt.Sscanf(string(c), `{"kind":"test","value":%d}`, &n); err != nil {
			panic(err)
		}
	}
	return n
}

func (e *stageEnd) Fetch(_ context.Context, r change.Range, limit poller.Limit) (page change.Page, err error) {
	err = e.stage.call(e.first, fetchRows, func() error {
		page = change.Page{NullCursors: -1}
		end := len(e.stage.rows)
		if !r.UpTo.IsStart() {
			end = at(r.UpTo)
		}
		for i := at(r.After); i < end && len(page.Events) < limit.Rows; i++ {
			page.Events = append(page.Events, e.event(i))
		}
		return nil
	})
	return page, err
}

func (e *stageEnd) Reread(_ context.Context, keys [][]byte) (events []change.Event, err error) {
	for i := range e.stage.rows {
		if event := e.event(i); slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(event.Key) }) {
			events = append(events, event)
		}
	}
	return events, nil
}

func (e *stageEnd) Other(context.Context, change.Cursor, [][]byte) (*change.Event, error) {
	return nil, nil
} //nolint:nilnil // no other row

func (e *stageEnd) Deliver(_ context.Context, d change.Delivery) error {
	return e.stage.call(e.first, deliver, func() error {
		e.stage.mu.Lock()
		defer e.stage.mu.Unlock()
		for i := range d.Events {
			if d.Events[i].ID == e.stage.bad {
				return poller.FailAll(len(d.Events), poller.Refused, 422, errors.New("422"))
			}
		}
		for i := range d.Events {
			e.stage.effects[d.Events[i].ID]++
		}
		return nil
	})
}

func (e *stageEnd) Put(_ context.Context, d poller.DeadLetter) error {
	return e.stage.call(e.first, writeLetter, func() error {
		e.stage.mu.Lock()
		defer e.stage.mu.Unlock()
		e.stage.letters[d.Event.ID]++
		return nil
	})
}
