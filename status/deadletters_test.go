package status

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// brokenLetters is a store with a bug: the record with this in its name makes it panic.
type brokenLetters struct {
	*memstore.Store
	name string
}

func (s *brokenLetters) Load(ctx context.Context, key string) (state.Stored, error) {
	if s.name != "" && strings.Contains(key, s.name) {
		panic("a bug")
	}
	return s.Store.Load(ctx, key)
}

// TestLettersKnownAndUnknown: records that were read before stand between those that are read now, by several at a
// time; and a bug beneath ends no process.
func TestLettersKnownAndUnknown(t *testing.T) {
	store := &brokenLetters{Store: memstore.New()}
	var names []string
	for i := range 200 {
		r := deadletter.Record{
			ID: fmt.Sprintf("id%03d", i), App: "shop", Poller: "orders", Engine: "sqlite", Table: "orders",
			Key: json.RawMessage(`{"id":7}`), OrderKey: json.RawMessage(`{"id":7}`),
			Row: json.RawMessage(`{"id":7}`), Cause: 1, Reason: "answered 422", Attempts: 5, WrittenAt: time.Now(),
		}
		names = append(names, deadletter.Name("shop", "orders", "", r.ID))
		data, err := r.Encode()
		if err == nil {
			_, err = store.Create(t.Context(), names[i], data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		l := &deadLetterPart{store: store, slots: make(chan struct{}, recordsOnce), known: map[string]knownRecord{}}
		var odd []string
		for i := 1; i < len(names); i += 2 {
			odd = append(odd, names[i])
		}
		for _, wanted := range [][]string{odd, names} {
			if letters, err := l.records(t.Context(), wanted); err != nil || len(letters) != len(wanted) ||
				len(l.known) != len(wanted) {
				t.Fatalf("%d of %d letters, %v", len(letters), len(wanted), err)
			}
		}
	}
	store.name = "id017"
	l := &deadLetterPart{store: store, slots: make(chan struct{}, recordsOnce), known: map[string]knownRecord{}}
	if _, err := l.records(t.Context(), names); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("%v", err)
	}
}

// countingStore counts the records that are read.
type countingStore struct {
	*memstore.Store
	loads atomic.Int64
}

func (s *countingStore) Load(ctx context.Context, key string) (state.Stored, error) {
	s.loads.Add(1)
	return s.Store.Load(ctx, key)
}

// TestDeadLettersAreCountedCheaply: names are counted, records are read once and up to a bound, and those of other
// outputs, or of a poller with a longer name, are not counted.
func TestDeadLettersAreCountedCheaply(t *testing.T) {
	store := &countingStore{Store: memstore.New()}
	put := func(poller, output, id string, at time.Time) {
		t.Helper()
		r := deadletter.Record{
			ID: id, App: "shop", Poller: poller, Output: output, Engine: "sqlite", Table: "orders",
			Key: json.RawMessage(`{"id":7}`), OrderKey: json.RawMessage(`{"id":7}`),
			Row: json.RawMessage(`{"id":7,"secret":"4711"}`), Cause: 1, Reason: "answered 422", Attempts: 5, WrittenAt: at,
		}
		data, err := r.Encode()
		if err == nil {
			_, err = store.Create(t.Context(), deadletter.Name("shop", poller, output, id), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	noon := time.Date(2026, 4, 7, 12, 0, 0, 0, time.UTC)
	const total = recordsRead + 50
	for i := range total {
		put("orders", "", fmt.Sprintf("id%03d", i), noon.Add(time.Duration(i)*time.Second))
	}
	put("orders", "audit", "other", noon)
	put("orders_old", "", "other", noon)
	if _, err := store.Create(t.Context(), deadletter.Name("shop", "orders", "", "id000x"), []byte("damage")); err != nil {
		t.Fatal(err)
	}
	l := newDeadLetterPart(store, "shop", "orders", "", make(chan struct{}, recordsOnce))
	read := func() (o Output) {
		t.Helper()
		put, err := l.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		put(&o)
		return o
	}
	o := read()
	if o.DeadLetters != total+1 || len(o.Letters) != MaxLetters {
		t.Fatalf("%d dead letters, %d shown", o.DeadLetters, len(o.Letters))
	}
	if first := o.Letters[0]; first.ID != fmt.Sprintf("id%03d", recordsRead-2) || first.Key != `{"id":7}` ||
		first.Reason != "answered 422" || !first.At.After(*o.Letters[1].At) {
		t.Errorf("the newest of those that were read: %+v", first)
	}
	if text := fmt.Sprintf("%+v", o.Letters); strings.Contains(text, "4711") {
		t.Errorf("a row: %s", text)
	}
	if n := store.loads.Swap(0); n != recordsRead {
		t.Errorf("%d records were read, want %d", n, recordsRead)
	}
	read()
	if n := store.loads.Load(); n != 0 {
		t.Errorf("%d records were read again", n)
	}
}
