package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/state"
)

// TestPurgeWhileATickIsAtWork: a record that nothing waits behind is deleted without the lease, which a busy poller holds.
func TestPurgeWhileATickIsAtWork(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__max_attempts"] = "1"
	s.settings["pollers__orders__after_dead_letter"] = "release"
	s.receiver(`"id":2`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')`)
	s.tick()
	s.execute(`INSERT INTO orders VALUES (4, 4, '')`)
	s.tick()
	side, _ := s.page()
	op, _ := atWork(t, side.Operator.(*statusOperator))
	if n := op.snap.Doc.Parked.Count; n > 0 {
		t.Fatalf("%d events are parked", n)
	}
	s.must("deadletter", "purge", "orders", "--yes")
	if out, errs, err := s.cli("deadletter", "list", "orders"); err != nil || strings.Contains(out, `"id":2`) {
		t.Errorf("%v: %s%s", err, out, errs)
	}
}

// TestChangedSinceShownSaysTheWayOut: whoever loses the race against a busy poller is told how to win it.
func TestChangedSinceShownSaysTheWayOut(t *testing.T) {
	s, _ := deadLettered(t)
	side, _ := s.page()
	operator := side.Operator.(*statusOperator)
	op, lease := atWork(t, operator)
	nothing := func(*state.Lease) (*state.ObjectRef, error) { return nil, nil }
	for _, moment := range []string{"held", "moved"} {
		if err := op.leased(t.Context(), nothing); err == nil || !strings.Contains(err.Error(), "rowrelay state pause orders") {
			t.Errorf("%s: %v", moment, err)
		}
		if err := lease.Release(t.Context()); err != nil && moment == "held" {
			t.Fatal(err)
		}
	}
}

// TestHeldNamedBackfillSaysWhatWorks: no state command reaches the document of a named backfill, so none is advised.
func TestHeldNamedBackfillSaysWhatWorks(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__max_attempts"] = "1"
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')`)
	s.tick()
	s.receiver(`"id":2`, false)
	s.must("backfill", "orders", "--name", "history", "--from", "beginning", "--yes")
	side, _ := s.page()
	other := side.Operator.(*statusOperator).target(backfillPrefix+"history", "test")
	other.history = true
	op, err := other.begin(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	lease, err := op.out.keeper.Acquire(t.Context(), op.snap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Release(context.WithoutCancel(t.Context())) })
	_, errs, err := s.cli("deadletter", "replay", "orders", "--output", "backfill-history", "--as-recorded", "--yes")
	if err == nil || strings.Contains(err.Error()+errs, "rowrelay state") || !strings.Contains(err.Error(), "stop the process that sends this backfill") {
		t.Errorf("%v: %s", err, errs)
	}
}

// TestStoppedBeforeItListens: the host starts a worker anew for nothing only where it leaves with the code for that.
func TestStoppedBeforeItListens(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	err := run(stopped, []string{"serve"}, []string{"FUNCTIONS_CUSTOMHANDLER_PORT=0"}, strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	if restart := new(host.RestartError); !errors.As(err, &restart) {
		t.Errorf("it ends with %v", err)
	}
}
