package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
	"github.com/rowrelay/rowrelay/wiring"
)

// pauseNow is the pause in the document, or none.
func pauseNow(t *testing.T, d *wiring.Document) state.Paused {
	t.Helper()
	snap, err := d.Keeper.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if snap.Doc.Paused == nil {
		return state.Paused{}
	}
	return *snap.Doc.Paused
}

// pausedBy waits until the document is paused by somebody.
func pausedBy(t *testing.T, d *wiring.Document, by string) {
	t.Helper()
	programtest.Until(t, fmt.Sprintf("paused by %q", by), func() bool { return pauseNow(t, d).By == by })
}

// TestAStopEndsAReplay: the process is told to stop while a replay waits for the lease. It ends at once, the poller is
// as it was, and only then is closed what the replay needs. No action begins after that.
func TestAStopEndsAReplay(t *testing.T) {
	s, o := deadLettered(t)
	side, log := s.page()
	operator := side.Operator
	stop := make(chan struct{})
	operator.Stop = stop
	op, _ := atWork(t, operator)
	ended := make(chan error, 1)
	go func() {
		_, err := operator.Replay(t.Context(), "orders", "", []string{o.Letters[0].ID}, "ann")
		ended <- err
	}()
	pausedBy(t, op, "ann, for a replay")
	if p := pauseNow(t, op); p.Until.Sub(p.At) < 50*time.Second {
		t.Errorf("if the process dies, the pause lasts from %s to %s", p.At, p.Until)
	}
	close(stop)
	side.close()
	// The end of a replay goes into the document and the audit last: close waits for both.
	if p := pauseNow(t, op); p.By != "" {
		t.Errorf("the process closes what a replay under way needs: the poller is left paused by %q", p.By)
	}
	if !strings.Contains(log.String(), `"event":"resumed","poller":"orders","output":"","by":"ann","after":"a replay"`) {
		t.Errorf("the audit: %s", log)
	}
	err := <-ended
	if err == nil || !strings.Contains(err.Error(), "nothing was replayed: the process was told to stop") {
		t.Errorf("%v", err)
	}
	if _, err := operator.Pause(t.Context(), "orders", "", "bob"); !errors.Is(err, errStopped) {
		t.Errorf("an action of a process that ends: %v", err)
	}
}

// TestWhyAnActionIsNotDone: what is not there, what stands against it, and a store that does not answer are told apart.
func TestWhyAnActionIsNotDone(t *testing.T) {
	s, o := deadLettered(t)
	side, _ := s.page()
	operator := side.Operator
	ctx := t.Context()
	const missing, refused, failed = "missing", "refused", "failed"
	kind := func(_ string, err error) string {
		refusal := new(status.Refusal)
		switch {
		case err == nil:
			return "done"
		case !errors.As(err, &refusal):
			return failed
		case refusal.Missing:
			return missing
		}
		return refused
	}
	atWork(t, operator)
	held := func() (string, error) {
		short, cancel := context.WithTimeout(ctx, untilRefused)
		defer cancel()
		return operator.Replay(short, "orders", "", []string{o.Letters[0].ID}, "ann")
	}
	row := func(id string) (string, error) {
		data, err := operator.Row(ctx, "orders", "", id, "ann")
		return string(data), err
	}
	for what, c := range map[string][2]string{
		"an unknown poller":      {kind(operator.Pause(ctx, "nobody", "", "ann")), missing},
		"an unknown output":      {kind(operator.Resume(ctx, "orders", "audit", "ann")), missing},
		"an unknown dead letter": {kind(operator.Replay(ctx, "orders", "", []string{"gone"}, "ann")), missing},
		"its row":                {kind(row("gone")), missing},
		"a lease that is held":   {kind(held()), refused},
		"another spelling":       {kind(operator.Pause(ctx, "ORDERS", "", "ann")), "done"},
		"what is so already":     {kind(operator.Pause(ctx, "orders", "", "ann")), "done"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %s, want %s", what, c[0], c[1])
		}
	}
	dead := ordersShop(t, map[string]string{
		"state__kind": "blob", "pollers__orders__lease_ttl": "10s",
		"AzureWebJobsStorage": "DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=cGxhbnRlZA==;BlobEndpoint=http://127.0.0.1:1/shop;",
	})
	side, _ = dead.page()
	spent, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if got := kind(side.Operator.Pause(spent, "orders", "", "ann")); got != failed {
		t.Errorf("a dead store: %s", got)
	}
	fresh := ordersShop(t, stores(t)["file"])
	side, _ = fresh.page()
	if got := kind(side.Operator.Pause(ctx, "orders", "", "ann")); got != missing {
		t.Errorf("no document yet: %s", got)
	}
	path := filepath.Join(fresh.settings["state__path"], "state", "shop", "orders.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := kind(side.Operator.Pause(ctx, "orders", "", "ann")); got != refused {
		t.Errorf("a damaged document: %s", got)
	}
}
