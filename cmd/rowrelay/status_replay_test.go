package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
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

// TestReplayWhileATickIsAtWork: a poller with poll_interval holds its lease nearly all the time. The replay pauses it
// for a moment, and leaves it as it was.
func TestReplayWhileATickIsAtWork(t *testing.T) {
	s, o := deadLettered(t)
	if len(o.Letters) != 1 {
		t.Fatalf("%+v", o)
	}
	s.receiver("", false)

	side, log := s.page()
	operator := side.Operator.(*wiring.Operator)
	op, lease := atWork(t, operator)
	paused := make(chan string, 1)
	go func() { // what the tick at work does when it sees the pause
		defer close(paused)
		for t.Context().Err() == nil {
			snap, err := op.Keeper.Load(t.Context())
			if err == nil && snap.Doc.Paused != nil {
				paused <- snap.Doc.Paused.By
				if err := lease.Release(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
				return
			}
			programtest.Pause(t.Context())
		}
	}()
	s.says(side.Operator.Replay(t.Context(), "orders", "", []string{o.Letters[0].ID}, "ann"))("read again and delivered")
	if by := <-paused; by != "ann, for a replay" {
		t.Errorf("paused by %q", by)
	}
	for _, want := range []string{`"event":"paused","poller":"orders","output":"","by":"ann","for":"a replay"`,
		`"event":"deadletter_replayed"`, `"event":"resumed"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the audit lacks %s: %s", want, log.String())
		}
	}
	s.tick()
	if o := s.want("replayed", status.Healthy); o.Pause != nil || o.DeadLetters != 0 {
		t.Errorf("%+v", o)
	}
}

// untilRefused is how long a replay waits for a lease in vain: longer than all takes that it does before.
const untilRefused = 5 * time.Second

// TestReplayThatIsNotToBeHad: the lease is not given back in time. Nothing is replayed, the poller is as it was, and
// another's pause stays.
func TestReplayThatIsNotToBeHad(t *testing.T) {
	for name, before := range map[string]*state.Paused{"not paused": nil, "paused": {At: time.Now(), By: "bob"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			s, o := deadLettered(t)
			side, _ := s.page()
			operator := side.Operator.(*wiring.Operator)
			op, _ := atWork(t, operator)
			if _, err := op.Keeper.Amend(t.Context(), func(doc *state.Document) error {
				doc.Paused = before
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			// Whoever asked is not waited for: the bound of the test is shorter than the real one.
			ctx, cancel := context.WithTimeout(t.Context(), untilRefused)
			defer cancel()
			_, err := side.Operator.Replay(ctx, "orders", "", []string{o.Letters[0].ID}, "ann")
			if err == nil || !strings.Contains(err.Error(), "nothing was replayed: the lease is held by") ||
				strings.Contains(err.Error(), "--break-lease") {
				t.Errorf("%v", err)
			}
			snap, err := op.Keeper.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if after := snap.Doc.Paused; (after == nil) != (before == nil) || after != nil && after.By != "bob" {
				t.Errorf("paused before: %+v, after: %+v", before, after)
			}
		})
	}
}

// TestPauseDuringAReplay: who pauses while a replay has the poller paused is not told that it is paused already, only
// for the replay's end to let it go on.
func TestPauseDuringAReplay(t *testing.T) {
	s, o := deadLettered(t)
	side, _ := s.page()
	op, _ := atWork(t, side.Operator.(*wiring.Operator))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := side.Operator.Replay(ctx, "orders", "", []string{o.Letters[0].ID}, "ann")
		ended <- err
	}()
	pausedBy := func() string {
		snap, err := op.Keeper.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if snap.Doc.Paused == nil {
			return ""
		}
		return snap.Doc.Paused.By
	}
	programtest.Until(t, "the replay pauses", func() bool { return pausedBy() != "" })
	s.says(side.Operator.Pause(t.Context(), "orders", "", "carol"))("Paused orders")
	cancel()
	if err := <-ended; err == nil {
		t.Error("the replay says that it was done")
	}
	if by := pausedBy(); by != "carol" {
		t.Errorf("paused by %q", by)
	}
}
