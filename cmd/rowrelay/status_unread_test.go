package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/status"
)

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
			ID: fmt.Sprintf("id%03d", i), App: "shop", Poller: "orders", Engine: "sqlite", Table: "orders", Key: json.RawMessage(`{"id":7}`), OrderKey: json.RawMessage(`{"id":7}`),
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

// TestSlowRecordsHideNoDeadLetters: how many there are is known without them, and each report knows more of them than the one before.
func TestSlowRecordsHideNoDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowRecords{memstore.New(), 300 * time.Millisecond}
		givenUp(t, store, 400)
		l := newLettersPart(&app{cfg: &config.App{State: config.State{AppName: "shop"}}, store: store}, &wired{cfg: &config.Poller{Name: "orders"}}, "", make(chan struct{}, lettersOnce))
		b := status.NewBoard(status.BoardConfig{Bound: statusBound, Outputs: []status.Subject{{Base: status.Output{Poller: "orders"}, Parts: []status.Part{
			{What: "the state document", Main: true, Read: func(context.Context) (func(*status.Output), error) { return func(*status.Output) {}, nil }},
			{What: "the dead letters", Stored: true, Every: lettersEvery, Read: l.read},
		}}}})
		before := 0
		for range 5 {
			o := b.Report(t.Context()).Outputs[0]
			if o.Health != status.Parked || o.DeadLetters != 400 || len(l.known) <= before {
				t.Fatalf("%s: %s; %d dead letters, %d known: %+v", o.Health, o.Says, o.DeadLetters, len(l.known), o.Problems)
			}
			if whole := len(l.known) == lettersRead; whole == (len(o.Problems) > 0) || !whole && !strings.Contains(o.Problems[0].Text, "not all of the dead letters that are listed here could be read: there was no answer within 2s") {
				t.Errorf("%d are known: %+v", len(l.known), o.Problems)
			}
			before = len(l.known)
			time.Sleep(lettersEvery)
		}
		if before != lettersRead {
			t.Errorf("after a while %d are known", before)
		}
	})
}

// TestTheCommandFailsWhereItCannotSay: no number of dead letters is no zero, and no success.
func TestTheCommandFailsWhereItCannotSay(t *testing.T) {
	s := ordersShop(t, map[string]string{"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state")})
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	s.want("before", status.Healthy)
	note := filepath.Join(s.settings["state__path"], "status", "shop", "orders.json")
	if err := os.WriteFile(note, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := s.cli("status")
	if shown := new(exitError); !errors.As(err, &shown) || !strings.Contains(out, "UNKNOWN  orders") || !strings.Contains(out, "note of its last tick") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestResetForgetsTheNote: it is of the position of before; dry runs forget nothing.
func TestResetForgetsTheNote(t *testing.T) {
	s := ordersShop(t, map[string]string{"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state")})
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	s.execute(`INSERT INTO orders VALUES (2, 2, '')`)
	s.receiver("", true)
	s.tick()
	s.want("failing", status.Failing)
	s.must("state", "reset", "orders", "--to", "beginning", "--dry-run")
	s.want("after a dry run", status.Failing)
	s.must("state", "reset", "orders", "--to", "beginning", "--yes")
	if o := s.want("after a reset", status.Healthy); o.LastError != nil || o.NotedAt != nil {
		t.Errorf("%+v", o)
	}
	s.must("state", "reset", "orders", "--to", "latest", "--yes") // where there is no note
	s.tick()
	s.tick()
}

// TestRowsThatGoAwayAreNotLeftToDo: a tick ends at its last batch with a row left, which is deleted. The idle ticks after it say so once.
func TestRowsThatGoAwayAreNotLeftToDo(t *testing.T) {
	s := ordersShop(t, map[string]string{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "pollers__orders__batch_size": "2", "pollers__orders__max_batches": "1",
	})
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')`)
	s.tick()
	note := func() string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(s.settings["state__path"], "status", "shop", "orders.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if text := note(); !strings.Contains(text, `"more":true`) {
		t.Fatalf("nothing is left: %s", text)
	}
	s.execute(`DELETE FROM orders WHERE id = 3`)
	s.tick()
	if text := note(); strings.Contains(text, `"more":true`) {
		t.Errorf("a tick has found nothing: %s", text)
	}
	if o := s.want("idle", status.Healthy); o.NotedAt == nil {
		t.Errorf("%+v", o)
	}
}

// TestReadsOfTheStoreWaitTheirTurns: every part of a poller with a document is read from the state store, a few at a time, and shared by
// those who look at about the same time.
func TestReadsOfTheStoreWaitTheirTurns(t *testing.T) {
	s := ordersShop(t, map[string]string{"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state")})
	side, _ := s.page()
	o := side.Operator.(*statusOperator)
	subjects := statusSubjects(o.console, o.app, o.app.pollers[0], nil, false, nil)
	if len(subjects) != 1 || len(subjects[0].Parts) != 2 {
		t.Fatalf("%+v", subjects)
	}
	for _, p := range subjects[0].Parts {
		if !p.Stored || p.Every == 0 {
			t.Errorf("%+v", p)
		}
	}
}
