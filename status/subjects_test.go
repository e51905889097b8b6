package status

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// TestNextRun: standalone by the setting schedule; under the host by function.json, with %NAME% as the host resolves
// it.
func TestNextRun(t *testing.T) {
	root := t.TempDir()
	every, err := schedule.Parse("*/5 * * * * *")
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Poller{Name: "orders", TickBudget: time.Minute, Outputs: []config.Output{{Timeout: 30 * time.Second}}}
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
	next := func(hosted bool) string {
		app := inspect.New(inspect.Wiring{
			Config: &config.App{}, Functions: host.AppOf([]string{"FUNCTIONS_APP_ROOT_PATH=" + root,
				"ORDERS_SCHEDULE=0 0 3 * * *"}), Hosted: hosted,
			Pollers: []inspect.Wired{{Config: cfg, Schedule: every}},
		})
		s := subjects(app.Pollers[0], &BoardConfig{}, false, nil)[0]
		if s.Next == nil {
			return "not known"
		}
		at, _ := s.Next(noon)
		return at.Format(time.DateTime) + " " + s.Limit.String()
	}
	alone := func(change func(*config.Poller)) time.Duration {
		poller := *cfg
		change(&poller)
		wired := []inspect.Wired{{Config: &poller, Schedule: every}}
		app := inspect.New(inspect.Wiring{Config: &config.App{}, Pollers: wired})
		return IdleAfter(app.Pollers[0])
	}
	for name, c := range map[string]struct {
		change func(*config.Poller)
		want   time.Duration
	}{
		"a cursor":    {func(*config.Poller) {}, 80 * time.Second},
		"polls on":    {func(p *config.Poller) { p.PollInterval = time.Second }, 0},
		"an outbox":   {func(p *config.Poller) { p.Source.Mode = mode.Outbox }, 0},
		"two outputs": {func(p *config.Poller) { p.Outputs = append(p.Outputs, config.Output{Name: "more"}) }, 0},
	} {
		if got := alone(c.change); got != c.want {
			t.Errorf("%s: silent after %s, want %s", name, got, c.want)
		}
	}
	if got := next(false); got != "2026-04-07 12:00:05 2m40s" {
		t.Errorf("standalone: %s", got)
	}
	if got := next(true); got != "not known" {
		t.Errorf("without function.json: %s", got)
	}
	write("%ORDERS_SCHEDULE%")
	if got := next(true); got != "2026-04-08 03:00:00 48h2m30s" {
		t.Errorf("by an app setting: %s", got)
	}
	write("%ABSENT%")
	if got := next(true); got != "not known" {
		t.Errorf("by a setting that is absent: %s", got)
	}
}

// TestReadsOfTheStoreWaitTheirTurns: every part of a poller with a document is read from the state store, a few at a
// time, and shared by those who look at about the same time.
func TestReadsOfTheStoreWaitTheirTurns(t *testing.T) {
	cfg := &config.Poller{Name: "orders", Source: config.Source{Mode: mode.Cursor}, Outputs: make([]config.Output, 1)}
	app := inspect.New(inspect.Wiring{Config: &config.App{}, Pollers: []inspect.Wired{{
		Config: cfg, Outputs: []inspect.WiredOutput{{Config: &cfg.Outputs[0]}},
	}}})
	list := subjects(app.Pollers[0], &BoardConfig{Store: memstore.New()}, false, nil)
	if len(list) != 1 || len(list[0].Parts) != 2 {
		t.Fatalf("%+v", list)
	}
	for _, p := range list[0].Parts {
		if !p.Stored || p.Every == 0 {
			t.Errorf("%+v", p)
		}
	}
}

// TestWhatIsReadApartIsTold: the position has passed rows of an order key that are not delivered.
func TestWhatIsReadApartIsTold(t *testing.T) {
	store := memstore.New()
	keeper, err := state.New(state.Config{Store: store, Key: "orders", Poller: "orders", TTL: time.Minute, Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = keeper.CreateWith(t.Context(), state.Document{
		Checkpoint: state.Checkpoint{Cursor: change.Cursor(`{"kind":"int","value":900}`)},
		Apart:      []state.Apart{{OrderKey: []byte(`{"owner":7}`), At: change.Cursor(`{"kind":"int","value":17}`)}},
	}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Poller{Name: "orders", Source: config.Source{Mode: mode.Cursor}, Outputs: make([]config.Output, 1)}
	app := inspect.New(inspect.Wiring{Config: &config.App{}, Pollers: []inspect.Wired{{
		Config: cfg, Outputs: []inspect.WiredOutput{{Config: &cfg.Outputs[0], Key: "orders", Keeper: keeper}},
	}}})
	b := newBoard(BoardConfig{App: "shop", Store: store, Bound: time.Second,
		Outputs: subjects(app.Pollers[0], &BoardConfig{Store: store}, false, nil)})
	var out strings.Builder
	r := b.Report(t.Context())
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, `read apart order key {"owner":7}, which has a backlog: delivered as`) ||
		!strings.Contains(text, `{"kind":"int","value":17}`) {
		t.Error(text)
	}
}
