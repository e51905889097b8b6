package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
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

// TestLettersKnownAndUnknown: records that were read before stand between those that are read now, by several at a time; and a bug
// beneath ends no process.
func TestLettersKnownAndUnknown(t *testing.T) {
	store := &brokenLetters{Store: memstore.New()}
	var names []string
	for i := range 200 {
		r := deadletter.Record{
			ID: fmt.Sprintf("id%03d", i), App: "shop", Poller: "orders", Engine: "sqlite", Table: "orders", Key: json.RawMessage(`{"id":7}`), OrderKey: json.RawMessage(`{"id":7}`),
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
		l := &lettersPart{store: store, slots: make(chan struct{}, lettersOnce), known: map[string]readLetter{}}
		var odd []string
		for i := 1; i < len(names); i += 2 {
			odd = append(odd, names[i])
		}
		for _, wanted := range [][]string{odd, names} {
			if letters, err := l.look(t.Context(), wanted); err != nil || len(letters) != len(wanted) || len(l.known) != len(wanted) {
				t.Fatalf("%d of %d letters, %v", len(letters), len(wanted), err)
			}
		}
	}
	store.name = "id017"
	l := &lettersPart{store: store, slots: make(chan struct{}, lettersOnce), known: map[string]readLetter{}}
	if _, err := l.look(t.Context(), names); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("%v", err)
	}
}
