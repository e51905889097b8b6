package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/status"
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
	l := newLettersPart(&app{cfg: &config.App{State: config.State{AppName: "shop"}}, store: vastStore{memstore.New()}}, &wired{cfg: &config.Poller{Name: "orders"}}, "", make(chan struct{}, lettersOnce))
	b := status.NewBoard(status.BoardConfig{Bound: statusBound, Outputs: []status.Subject{{Base: status.Output{Poller: "orders"}, Parts: []status.Part{{What: "the dead letters", Read: l.read}}}}})
	if o := b.Report(t.Context()).Outputs[0]; o.Health != status.Parked || o.DeadLetters != lettersMost || o.CountedTo != lettersMost || o.Says != "It works; of its events: at least 50000 dead letters" {
		t.Errorf("%+v", o)
	}
}
