package main

import (
	"context"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
	"github.com/rowrelay/rowrelay/wiring"
)

// deadLettered is a shop of four rows, of which the second was given up.
func deadLettered(t *testing.T) (*statusShop, status.Output) {
	t.Helper()
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__max_attempts"] = "1"
	s.receiver(`"id":2`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')`)
	s.tick()
	s.execute(`INSERT INTO orders VALUES (4, 4, '')`)
	s.tick()
	o := s.want("dead-lettered", status.DeadLettered)
	return s, o
}

// ordersDocument is the document of the poller orders.
func ordersDocument(t *testing.T, o *wiring.Operator) *wiring.Document {
	t.Helper()
	d, err := o.App.Managed(t.Context(), &wiring.Choice{}, "orders", "test", o.Log)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// atWork takes the lease, as a tick does that goes on for long.
func atWork(t *testing.T, o *wiring.Operator) (*wiring.Document, *state.Lease) {
	t.Helper()
	d := ordersDocument(t, o)
	return d, leasedDocument(t, d)
}

// leased takes the lease of a document.
func leasedDocument(t *testing.T, d *wiring.Document) *state.Lease {
	t.Helper()
	snap, err := d.Keeper.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lease, err := d.Keeper.Acquire(t.Context(), snap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Release(context.WithoutCancel(t.Context())) }) // it may have been given back
	return lease
}

// untilRefused is how long a replay waits for a lease in vain: longer than all takes that it does before.
const untilRefused = 5 * time.Second
