package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/host"
)

// TestPurgeWhileATickIsAtWork: a record that nothing waits behind is deleted without the lease, which a busy poller
// holds.
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
	_, lease := atWork(t, side.Operator)
	if n := lease.Known().Parked.Count; n > 0 {
		t.Fatalf("%d events are parked", n)
	}
	s.must("deadletter", "purge", "orders", "--yes")
	if out, errs, err := s.cli("deadletter", "list", "orders"); err != nil || strings.Contains(out, `"id":2`) {
		t.Errorf("%v: %s%s", err, out, errs)
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
	o := side.Operator
	backfill := &target{console: &console{err: io.Discard}, output: admin.BackfillPrefix + "history", history: true}
	d, err := backfill.find(t.Context(), o.App, "orders")
	if err != nil {
		t.Fatal(err)
	}
	leasedDocument(t, d)
	_, errs, err := s.cli("deadletter", "replay", "orders", "--output", "backfill-history", "--as-recorded", "--yes")
	if err == nil || strings.Contains(err.Error()+errs, "rowrelay state") ||
		!strings.Contains(err.Error(), "stop the process that sends this backfill") {
		t.Errorf("%v: %s", err, errs)
	}
}

// TestStoppedBeforeItListens: the host starts a worker anew for nothing only where it leaves with the code for that.
func TestStoppedBeforeItListens(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	err := execute(stopped, []string{"serve"}, []string{"FUNCTIONS_CUSTOMHANDLER_PORT=0"}, strings.NewReader(""),
		&strings.Builder{}, &strings.Builder{})
	if restart := new(host.RestartError); !errors.As(err, &restart) {
		t.Errorf("it ends with %v", err)
	}
}
