package main

import (
	"context"
	"testing"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// tidied runs while a tick that has given its lease back still removes the objects that nobody names any more.
func tidied(t *testing.T, k *state.Keeper, do func()) {
	t.Helper()
	snap, err := k.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lease, err := k.Acquire(t.Context(), snap)
	if err == nil {
		err = lease.Release(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	tidying, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tidying.Err() == nil {
			_ = lease.Collect(tidying) // it is stopped in the middle
		}
	}()
	defer func() { stop(); <-ended }()
	do()
}

// TestReplayWhileATickTidiesUp: what a replay stores outlasts the clean-up of the tick before it, in another process
// or in this one. Otherwise the poller would stop at a missing object, and the records would be gone.
func TestReplayWhileATickTidiesUp(t *testing.T) {
	for name, sameProcess := range map[string]bool{"another process": false, "the status page's own": true} {
		t.Run(name, func(t *testing.T) {
			s, o := deadLettered(t)
			side, _ := s.page()
			operator := side.Operator.(*statusOperator)
			for range 40 {
				op, err := operator.target("", "test").begin(t.Context(), "orders")
				if err != nil {
					t.Fatal(err)
				}
				tick := op.out.keeper
				if !sameProcess {
					other, _ := s.page()
					outside, err := other.Operator.(*statusOperator).target("", "test").begin(t.Context(), "orders")
					if err != nil {
						t.Fatal(err)
					}
					tick = outside.out.keeper
				}
				letter := deadletter.Entry{Record: &deadletter.Record{
					ID: o.Letters[0].ID, Key: []byte(`{"id":2}`), OrderKey: []byte(`{"id":2}`), Cause: poller.Refused,
				}}
				tidied(t, tick, func() {
					if op.snap, err = op.out.keeper.Load(t.Context()); err == nil {
						err = op.park(t.Context(), []deadletter.Entry{letter})
					}
					if err != nil {
						t.Fatal(err)
					}
				})
				snap, err := op.out.keeper.Load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if entries, err := parkedOf(t.Context(), op.out, &snap.Doc); err != nil || len(entries) != 1 {
					t.Fatalf("the replay was done, and what it stored: %d entries, %v", len(entries), err)
				}
			}
		})
	}
}
