package checkpointed

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// rowSource is a Source over rows in memory; the position is an index.
type rowSource struct {
	mu          sync.Mutex
	rows        []string // order keys
	fetches     int
	start       int
	fingerprint string
	incarnation string
}

func (s *rowSource) Describe(context.Context) (Description, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Description{Fingerprint: s.fingerprint, Engine: "test", Table: "rows", Coarse: true}, nil
}

func (s *rowSource) Start(context.Context) (change.Cursor, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return position(s.start), s.incarnation, nil
}

func (s *rowSource) Reread(_ context.Context, keys [][]byte) ([]change.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var events []change.Event
	for _, key := range keys {
		events = append(events, s.event(idOf(&change.Event{Key: key})))
	}
	return events, nil
}

func (s *rowSource) event(i int) change.Event {
	key := fmt.Appendf(nil, "%q", s.rows[i])
	return change.Event{ID: fmt.Sprint(i), Key: rowKey(i), OrderKey: key, Row: key, Cursor: position(i + 1),
		Time: time.Now()}
}

func (s *rowSource) Other(context.Context, change.Cursor, [][]byte) (*change.Event, error) {
	return nil, nil
}

func (s *rowSource) Compare(was, is string) (Relation, string) { return compareLives(was, is) }

func (s *rowSource) Replaced(context.Context, change.Cursor, string, string) (string, error) {
	return "", nil
}

// compareLives takes what follows a slash for what a failover changes.
func compareLives(was, is string) (Relation, string) {
	a, _, _ := strings.Cut(was, "/")
	b, _, _ := strings.Cut(is, "/")
	switch {
	case was == is:
		return SameDatabase, is
	case a == b:
		return FailedOver, is
	default:
		return AnotherDatabase, is
	}
}

func (s *rowSource) Horizon(context.Context) (change.Horizon, error) {
	return change.Horizon{Now: time.Now()}, nil
}

func (s *rowSource) Fetch(_ context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	after := r.After
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetches++
	from := 0
	if !after.IsStart() {
		if _, err := fmt.Sscanf(string(after), `{"kind":"test","value":%d}`, &from); err != nil {
			return change.Page{}, err
		}
	}
	page := change.Page{Incarnation: s.incarnation, NullCursors: -1}
	end := min(from+limit.Rows, len(s.rows))
	for i := from; i < end; i++ {
		page.Events = append(page.Events, s.event(i))
	}
	page.More = end < len(s.rows)
	return page, nil
}

func (s *rowSource) add(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, keys...)
}

// instance is one process: a relay with its own way to the shared store.
type instance struct {
	*poller.Relay
	store  *storetest.Faulty
	keeper *state.Keeper
}

const testKey = "state/app/orders.json"

func newInstance(t *testing.T, store state.Store, source Source, to poller.Output,
	change ...func(*poller.Config)) instance {
	t.Helper()
	faulty := storetest.NewFaulty(store)
	keeper, err := state.New(state.Config{Store: faulty, Key: testKey, Poller: "orders", Owner: "app/test",
		TTL: 60 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := New(Config{
		App: "app", Poller: "orders", Source: source, Keeper: keeper, Ordering: poller.OrderKey, DeadLetters: &deadLetters{},
		Policy: poller.Policy{MaxAttempts: 5,
			Delays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}, MaxParked: 1000},
		LateWindow: 2 * time.Minute, LateLimit: time.Minute, LateMemory: 1_000_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return instance{pollertest.Relay(t, feed, to, change...), faulty, keeper}
}

func (i instance) position(t *testing.T) change.Cursor {
	t.Helper()
	s, err := i.keeper.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s.Doc.Checkpoint.Cursor
}
