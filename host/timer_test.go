package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/mode"
)

// A message lives for the timer's period, as its function.json and app setting say.
func TestTimerPeriod(t *testing.T) {
	root := t.TempDir()
	app := AppOf([]string{"FUNCTIONS_APP_ROOT_PATH=" + root, "EVENTS_SCHEDULE=*/15 * * * * *"})
	if got := app.TimerPeriod("events"); got != time.Minute {
		t.Errorf("without function.json: %s", got)
	}
	if err := os.Mkdir(filepath.Join(root, "events"), 0o700); err != nil {
		t.Fatal(err)
	}
	for schedule, want := range map[string]time.Duration{"%EVENTS_SCHEDULE%": 15 * time.Second,
		"0 */5 * * * *": 5 * time.Minute, "%ABSENT%": time.Minute, "never": time.Minute} {
		text := `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"` + schedule + `"}]}`
		testfile.Write(t, filepath.Join(root, "events", "function.json"), text)
		if got := app.TimerPeriod("events"); got != want {
			t.Errorf("%s: %s, want %s", schedule, got, want)
		}
	}
}

// Functions that the settings do not ask for are not written, and named where they are left over.
func TestLeftoverFunctions(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"orders_partition", "orders_cleanup"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		testfile.Write(t, filepath.Join(root, name, "function.json"), `{"bindings":[]}`)
	}
	app := AppOf([]string{"FUNCTIONS_APP_ROOT_PATH=" + root})
	for want, settings := range map[string]config.Source{
		"orders_partition/":                 {CleanupSchedule: "0 0 * * * *"},
		"orders_partition/,orders_cleanup/": {},
		"orders_cleanup/":                   {FanoutQueue: "q-1"},
		"":                                  {CleanupSchedule: "0 0 * * * *", FanoutQueue: "q-1"},
	} {
		settings.Mode = mode.Outbox
		p := &config.Poller{Name: "orders", Source: settings}
		var got []string
		for _, text := range app.Leftovers(p) {
			name, _, _ := strings.Cut(text, " ")
			got = append(got, name)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%+v: %q, want %q", settings, got, want)
		}
		for _, f := range FunctionsOf(p) {
			if strings.Contains(want, f.Name+"/") {
				t.Errorf("%+v: %s is written", settings, f.Name)
			}
		}
	}
	shared := &config.Poller{Name: "orders", Source: config.Source{Mode: mode.Leased}}
	if list := app.Leftovers(shared); len(list) != 1 || len(FunctionsOf(shared)) != 1 {
		t.Errorf("shared leases: left over %q, functions %+v", list, FunctionsOf(shared))
	}
	shared.Source.FanoutQueue = "q-1"
	list := FunctionsOf(shared)
	if len(app.Leftovers(shared)) != 0 || len(list) != 2 || list[1].Name != "orders_partition" {
		t.Errorf("shared leases with fan-out: %+v", list)
	}
}
