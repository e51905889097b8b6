package status

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// vastStore has more dead letters than anybody counts.
type vastStore struct{ *memstore.Store }

func (vastStore) ListSome(_ context.Context, _ string, enough int) (names []string, all bool, err error) {
	for i := range enough {
		names = append(names, deadletter.Name("shop", "orders", "", fmt.Sprint(i)))
	}
	return names, false, nil
}

// TestVeryManyDeadLettersAreNotCountedOut: there are at least so many, which is said.
func TestVeryManyDeadLettersAreNotCountedOut(t *testing.T) {
	l := newDeadLetterPart(vastStore{memstore.New()}, "shop", "orders", "", make(chan struct{}, recordsOnce))
	b := newBoard(BoardConfig{Bound: partBound,
		Outputs: []Subject{{Base: Output{Poller: "orders"}, Parts: []Part{{What: "the dead letters", Read: l.read}}}}})
	if o := b.Report(t.Context()).Outputs[0]; o.Health != DeadLettered || o.DeadLetters != recordsMost ||
		o.CountedTo != recordsMost || o.Says != "It works; of its events: at least 50000 dead letters" {
		t.Errorf("%+v", o)
	}
}

// slowRecords is a store that takes its time for each record.
type slowRecords struct {
	*memstore.Store
	latency time.Duration
}

func (s *slowRecords) Load(ctx context.Context, key string) (state.Stored, error) {
	select {
	case <-ctx.Done():
		return state.Stored{}, ctx.Err()
	case <-time.After(s.latency):
		return s.Store.Load(ctx, key)
	}
}

// givenUp stores the records of so many dead letters of the poller orders.
func givenUp(t *testing.T, store state.Store, n int) {
	t.Helper()
	for i := range n {
		r := deadletter.Record{
			ID: fmt.Sprintf("id%03d", i), App: "shop", Poller: "orders", Engine: "sqlite", Table: "orders",
			Key: json.RawMessage(`{"id":7}`), OrderKey: json.RawMessage(`{"id":7}`),
			Row: json.RawMessage(`{"id":7}`), Cause: 1, Reason: "answered 422", Attempts: 5, WrittenAt: time.Now(),
		}
		data, err := r.Encode()
		if err == nil {
			_, err = store.Create(t.Context(), deadletter.Name("shop", "orders", "", r.ID), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlowRecordsHideNoDeadLetters: how many there are is known without them, and each report knows more of them than
// the one before.
func TestSlowRecordsHideNoDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowRecords{memstore.New(), 300 * time.Millisecond}
		givenUp(t, store, 400)
		l := newDeadLetterPart(store, "shop", "orders", "", make(chan struct{}, recordsOnce))
		b := newBoard(BoardConfig{Bound: partBound, Outputs: []Subject{{Base: Output{Poller: "orders"}, Parts: []Part{
			{What: "the state document", Main: true, Read: func(context.Context) (func(*Output), error) {
				return func(*Output) {}, nil
			}},
			{What: "the dead letters", Stored: true, Every: recordsEvery, Read: l.read},
		}}}})
		before := 0
		for range 5 {
			o := b.Report(t.Context()).Outputs[0]
			if o.Health != DeadLettered || o.DeadLetters != 400 || len(l.known) <= before {
				t.Fatalf("%s: %s; %d dead letters, %d known: %+v", o.Health, o.Says, o.DeadLetters, len(l.known), o.Problems)
			}
			if whole := len(l.known) == recordsRead; whole == (len(o.Problems) > 0) ||
				!whole && !strings.Contains(o.Problems[0].Text,
					"not all of the dead letters that are listed here could be read: there was no answer within 2s") {
				t.Errorf("%d are known: %+v", len(l.known), o.Problems)
			}
			before = len(l.known)
			time.Sleep(recordsEvery)
		}
		if before != recordsRead {
			t.Errorf("after a while %d are known", before)
		}
	})
}
