package handler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

// The test binary is also a custom handler: the real Handler, in a process of its own, under the fake host.
func TestMain(m *testing.M) {
	if os.Getenv("HANDLER_PLAY") == "" {
		os.Exit(m.Run())
	}
	log := handler.NewHostLogger(os.Stdout, os.Stderr, slog.LevelInfo)
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("FUNCTIONS_CUSTOMHANDLER_PORT"))
	if err != nil {
		panic(err)
	}
	var list []handler.Poller
	for name, report := range map[string]poller.Report{
		"good":  {Event: poller.TickComplete, Rows: 2, Warnings: []string{"no index\nserves the order"}},
		"idle":  {Event: poller.FetchEmpty},
		"bad":   {Event: poller.HandlerFailed, Reason: "refused", Err: errors.New("422: a WARNing\nin two lines")},
		"panic": {},
	} {
		report.Poller, report.Output, report.NullCursors = name, "output", -1
		list = append(list, handler.Poller{Name: name, Outputs: []string{"output"},
			Runner: runner(func(context.Context) []poller.Report {
				if report.Event == "" {
					panic("warn of it")
				}
				return []poller.Report{report}
			})})
	}
	list = append(list, handler.Poller{Name: "faulty", Outputs: []string{"output"},
		Faults: []error{errors.New("set a table")}})
	server := &http.Server{
		Handler: handler.New(context.Background(), handler.Config{Log: log, Pollers: list}), ReadHeaderTimeout: time.Minute,
	}
	panic(server.Serve(listener))
}

// Under the host's rules: each answer completes its invocation, each line has the level that was meant, and nothing
// that fails ends the process.
func TestUnderTheHost(t *testing.T) {
	root := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(root, "handler")); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("host.json", `{"version":"2.0","extensionBundle":{"id":"x","version":"y"},"customHandler":{"description":{"defaultExecutablePath":"handler"}}}`)
	trigger := `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"0 * * * * *"}]}`
	for _, name := range []string{"Good", "idle", "bad", "panic", "faulty", "stray"} {
		write(name+"/function.json", trigger)
	}
	host, err := fakehost.Start(t.Context(),
		fakehost.Options{Root: root, Settings: map[string]string{"HANDLER_PLAY": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	for name, invocation := range fakehost.Variants() {
		if result := host.InvokeWith(t.Context(), "Good", invocation); !result.Succeeded || len(result.Outputs) != 0 ||
			result.ReturnValue != nil {
			t.Errorf("%s: %v", name, result)
		}
	}
	for name, succeeds := range map[string]bool{"idle": true, "bad": false, "panic": false, "faulty": false,
		"stray": false} {
		if result := host.Invoke(t.Context(), name); result.Succeeded != succeeds || result.Status == 0 || result.Hung {
			t.Errorf("%s: %v", name, result)
		}
	}
	if host.Restarts() != 0 || host.Stopped() != nil {
		t.Errorf("the process ended: %d restarts, %v", host.Restarts(), host.Stopped())
	}
	host.Close()
	got := make(map[string]int)
	for _, line := range host.Logs() {
		if line.Source == "host" {
			continue
		}
		var record struct{ Level, Poller, Event string }
		if err := json.Unmarshal([]byte(line.Text), &record); err != nil {
			t.Errorf("%q is not one record: %v", line.Text, err)
		}
		got[fmt.Sprintf("%s %s %s", line.Level, record.Poller, record.Event)]++
	}
	want := map[string]int{
		"Information good tick_complete": len(fakehost.Variants()), "Warning good warning": len(fakehost.Variants()),
		"Error bad handler_failed": 1, "Error panic handler_failed": 1, "Error faulty config_invalid": 1,
		"Error  unknown_function": 1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		var text strings.Builder
		for _, line := range host.Logs() {
			fmt.Fprintf(&text, "\n%s: %s", line.Level, line.Text)
		}
		t.Errorf("got %v, want %v:%s", got, want, text.String())
	}
}
