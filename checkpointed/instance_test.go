package checkpointed

import (
	"context"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/storetest"
)

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
	doc := i.document(t)
	return doc.Checkpoint.Cursor
}

func (i instance) document(t *testing.T) state.Document {
	t.Helper()
	s, err := i.keeper.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s.Doc
}
