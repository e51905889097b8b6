package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/status"
)

// countingStore counts the records that are read.
type countingStore struct {
	*memstore.Store
	loads atomic.Int64
}

func (s *countingStore) Load(ctx context.Context, key string) (state.Stored, error) {
	s.loads.Add(1)
	return s.Store.Load(ctx, key)
}

// TestDeadLettersAreCountedCheaply: names are counted, records are read once and up to a bound, and those of other outputs, or of a
// poller with a longer name, are not counted.
func TestDeadLettersAreCountedCheaply(t *testing.T) {
	store := &countingStore{Store: memstore.New()}
	put := func(poller, output, id string, at time.Time) {
		t.Helper()
		r := deadletter.Record{
			ID: id, App: "shop", Poller: poller, Output: output, Engine: "sqlite", Table: "orders", Key: json.RawMessage(`{"id":7}`), OrderKey: json.RawMessage(`{"id":7}`),
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
	const total = lettersRead + 50
	for i := range total {
		put("orders", "", fmt.Sprintf("id%03d", i), noon.Add(time.Duration(i)*time.Second))
	}
	put("orders", "audit", "other", noon)
	put("orders_old", "", "other", noon)
	if _, err := store.Create(t.Context(), deadletter.Name("shop", "orders", "", "id000x"), []byte("damage")); err != nil {
		t.Fatal(err)
	}
	l := newLettersPart(&app{cfg: &config.App{State: config.State{AppName: "shop"}}, store: store}, &wired{cfg: &config.Poller{Name: "orders"}}, "", make(chan struct{}, lettersOnce))
	read := func() (o status.Output) {
		t.Helper()
		put, err := l.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		put(&o)
		return o
	}
	o := read()
	if o.DeadLetters != total+1 || len(o.Letters) != status.MaxLetters {
		t.Fatalf("%d dead letters, %d shown", o.DeadLetters, len(o.Letters))
	}
	if first := o.Letters[0]; first.ID != fmt.Sprintf("id%03d", lettersRead-2) || first.Key != `{"id":7}` || first.Reason != "answered 422" || !first.At.After(*o.Letters[1].At) {
		t.Errorf("the newest of those that were read: %+v", first)
	}
	if text := fmt.Sprintf("%+v", o.Letters); strings.Contains(text, "4711") {
		t.Errorf("a row: %s", text)
	}
	if n := store.loads.Swap(0); n != lettersRead {
		t.Errorf("%d records were read, want %d", n, lettersRead)
	}
	read()
	if n := store.loads.Load(); n != 0 {
		t.Errorf("%d records were read again", n)
	}
}

// TestNextRun: standalone by the setting schedule; under the host by function.json, with %NAME% as the host resolves it.
func TestNextRun(t *testing.T) {
	root := t.TempDir()
	c := &console{environ: []string{"FUNCTIONS_APP_ROOT_PATH=" + root, "ORDERS_SCHEDULE=0 0 3 * * *"}}
	w := &wired{cfg: &config.Poller{Name: "orders", Schedule: "*/5 * * * * *", TickBudget: time.Minute, Outputs: []config.Output{{Timeout: 30 * time.Second}}}}
	(&app{}).checkSchedule(w)
	noon := time.Date(2026, 4, 7, 12, 0, 0, 0, time.UTC)
	write := func(schedule string) {
		t.Helper()
		text := `{"bindings":[{"type":"timerTrigger","name":"timer","schedule":"` + schedule + `"}]}`
		err := os.MkdirAll(filepath.Join(root, "orders"), 0o750)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, "orders", "function.json"), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	next := func(file *host.File) string {
		s := timerOf(c, w, file)
		if s == nil {
			return "not known"
		}
		at, _ := s.Next(noon)
		return at.Format(time.DateTime) + " " + silentFor(w.cfg, s).String()
	}
	if got := next(nil); got != "2026-04-07 12:00:05 4m45s" {
		t.Errorf("standalone: %s", got)
	}
	if got := next(&host.File{}); got != "not known" {
		t.Errorf("without function.json: %s", got)
	}
	write("%ORDERS_SCHEDULE%")
	if got := next(&host.File{}); got != "2026-04-08 03:00:00 72h4m30s" {
		t.Errorf("by an app setting: %s", got)
	}
	write("%ABSENT%")
	if got := next(&host.File{}); got != "not known" {
		t.Errorf("by a setting that is absent: %s", got)
	}
}
