package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// testdata/faults.txt holds faulty settings, put into a good configuration (" ;; " stands between them), and below
// each, indented, every word that is said of it: the messages are what a user works with. Those of warnings begin so.
func TestFaults(t *testing.T) {
	data := testfile.Read(t, "testdata/faults.txt")
	change, want, cases := "", []string(nil), 0
	check := func() {
		app, err := Load(with(strings.Split(change, " ;; ")...))
		faults, warnings := app.AllFaults(), app.AllWarnings()
		if (err != nil) != (len(faults) > 0) {
			t.Errorf("%s: error %v beside %d faults", change, err, len(faults))
		}
		var got []string
		for _, f := range faults {
			got = append(got, f.Error())
		}
		for _, w := range warnings {
			got = append(got, "warning "+w.Error())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", change, diff)
		}
		cases++
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if said, ok := strings.CutPrefix(line, "\t"); ok {
			want = append(want, said)
			continue
		}
		if change != "" {
			check()
		}
		change, want = line, nil
	}
	check()
	if cases < 100 {
		t.Errorf("only %d cases were read", cases)
	}
}

func TestNoPoller(t *testing.T) {
	_, err := Load([]string{"state__kind=memory"})
	const want = "pollers__<name>__source__connection: is not set for any name: there is no poller. " +
		"Describe one, such as pollers__orders__source__connection=ORDERS_DB; docs/settings.md lists all settings."
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// Variables of other software that look a little like ours must pass.
func TestForeignVariables(t *testing.T) {
	app, err := Load(good(
		"STATE=x", "STATUS=ok", "LOG=1", "STATIC_PATH=/x", "STAGE_PATH=/x", "LOGGING__LOGLEVEL__DEFAULT=Debug", "LOG_FILE=/x",
		"STATE_SERVICE_HOST=10.0.0.1", "STATUS_PORT_80_TCP=tcp://10.0.0.1:80", "POLLERS_SERVICE_HOST=10.0.0.1",
		"STATS__ENABLED=1",
		"AzureFunctionsJobHost__logging__console__isEnabled=true", "BLOG__THEME=3", "ROLLER__A=1",
		"FUNCTIONS_WORKER_RUNTIME=custom", "POLLER=1",
	))
	if err != nil || len(app.AllWarnings()) > 0 {
		t.Errorf("%v %v", err, app.AllWarnings())
	}
}
