package fakehost_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

const (
	hostJSON = `{"version":"2.0","functionTimeout":"00:05:00","extensionBundle":{"id":"x","version":"[4.*, 5.0.0)"},
		"customHandler":{"description":{"defaultExecutablePath":"bin/handler","workingDirectory":"","arguments":["serve"]}}}`
	timerJSON = `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"%SCHEDULE%"}]}`
	queueJSON = `{"bindings":[{"type":"queueTrigger","direction":"in","name":"item","queueName":"q","connection":"C"}]}`
)

// app lays out a function app whose handler plays a part.
func app(t *testing.T, part string, files map[string]string) fakehost.Options {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{"host.json": hostJSON, "orders/function.json": timerJSON, "worker/function.json": queueJSON}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(root, name)
		testfile.Write(t, path, text)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(root, "bin", "handler")); err != nil {
		t.Fatal(err)
	}
	return fakehost.Options{Root: root, Settings: map[string]string{
		"FAKEHOST_PLAY": part, "SCHEDULE": "0 * * * * *", "pollers__orders__schedule": "0 * * * * *",
	}}
}

func start(t *testing.T, options fakehost.Options) *fakehost.Host {
	t.Helper()
	host, err := fakehost.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// count counts the lines of one level that contain text; the host is closed before, so that all have arrived.
func count(host *fakehost.Host, level fakehost.Level, text string) int {
	host.Close()
	n := 0
	for _, line := range host.Logs() {
		if line.Level == level && strings.Contains(line.Text, text) {
			n++
		}
	}
	return n
}

func TestGoodHandler(t *testing.T) {
	host := start(t, app(t, "good", nil))
	for name, invocation := range fakehost.Variants() {
		if result := host.InvokeWith(t.Context(), "orders", invocation); !result.Succeeded {
			t.Errorf("%s: %v", name, result)
		}
	}
	if err := host.Stopped(); err != nil || host.Restarts() != 0 || host.StartupTime() <= 0 {
		t.Errorf("stopped %v, %d restarts, %s", err, host.Restarts(), host.StartupTime())
	}
	if result := host.Invoke(t.Context(), "other"); result.Succeeded {
		t.Error("a function without a function.json was invoked")
	}
}

// What the worker is given, to the letter.
func TestRequestAndEnvironment(t *testing.T) {
	options := app(t, "auditor", nil)
	host := start(t, options)
	result := host.Invoke(t.Context(), "orders")
	if !result.Succeeded {
		t.Fatal(result)
	}
	var got []string
	for _, line := range host.Logs() {
		if line.Source == "logs" {
			got = append(got, line.Text)
		}
	}
	want := map[int]string{
		0: "POST /orders", 2: "", 3: "application/json; charset=utf-8", 5: result.InvocationID, 7: "", 8: "serve",
		9: options.Root, 10: options.Root, 11: host.URL()[strings.LastIndexByte(host.URL(), ':')+1:], 13: "0 * * * * *",
	}
	for i, text := range want {
		if got[i] != text {
			t.Errorf("member %d is %q, want %q", i, got[i], text)
		}
	}
	if got[14] == "-1" || got[14] == "0" || got[15] != "" {
		t.Errorf("Content-Length %s, traceparent %q", got[14], got[15])
	}
	if !strings.HasPrefix(got[4], "Azure-Functions-Host/4.") || got[6] == "" || got[12] == "" {
		t.Errorf("user agent %q, host version %q, worker id %q", got[4], got[6], got[12])
	}
	var body struct {
		Data struct {
			Timer struct {
				ScheduleStatus struct{ Last string }
				IsPastDue      *bool
			}
		}
		Metadata struct{ Sys struct{ MethodName string } }
	}
	if err := json.Unmarshal([]byte(got[1]), &body); err != nil || body.Data.Timer.ScheduleStatus.Last == "" ||
		body.Data.Timer.IsPastDue == nil || body.Metadata.Sys.MethodName != "orders" {
		t.Errorf("the body is %s (%v)", got[1], err)
	}
}

func TestTraps1To4Answers(t *testing.T) {
	for part, want := range map[string]struct{ succeeded, hung bool }{
		"logs":          {succeeded: true},
		"outputs":       {succeeded: true},
		"empty":         {hung: true},
		"empty chunked": {hung: true},
		"null":          {hung: true},
		"no content":    {hung: true},
		"text":          {},
		"no type":       {},
		"array":         {},
		"string":        {},
		"cut":           {},
		"500":           {},
		"redirect":      {},
	} {
		t.Run(part, func(t *testing.T) {
			host := start(t, app(t, part, nil))
			result := host.Invoke(t.Context(), "orders")
			if result.Succeeded != want.succeeded || result.Hung != want.hung || (result.Why == "") != want.succeeded {
				t.Errorf("got %v, want %+v", result, want)
			}
			switch part {
			case "logs":
				if count(host, fakehost.Information, "a warning") != 1 || result.ReturnValue != nil {
					t.Errorf("Logs are Information, and null is no value: %v, %s", host.Logs(), result.ReturnValue)
				}
			case "500":
				if count(host, fakehost.Information, "why") != 0 || result.Outputs != nil {
					t.Error("the body of a failure is discarded")
				}
			case "outputs":
				if len(result.Outputs) != 2 || result.ReturnValue == nil || len(result.Lossy()) != 1 ||
					result.Lossy()[0] != "queue" {
					t.Errorf("outputs %s, return value %s, lossy %v", result.Outputs, result.ReturnValue, result.Lossy())
				}
			}
		})
	}
}

func TestTrap5DoubleEncoding(t *testing.T) {
	host := start(t, app(t, "naive queue", nil))
	result := host.InvokeWith(t.Context(), "worker", fakehost.Invocation{Message: "hello"})
	if result.Succeeded || !strings.Contains(string(result.Body), `"\"hello\"" 1`) {
		t.Errorf("a handler that does not decode twice got away with it: %v", result)
	}
}

func TestTrap6Timers(t *testing.T) {
	host := start(t, app(t, "naive timer", nil))
	for name, invocation := range fakehost.Variants() {
		naive := !invocation.AsString && !invocation.NoStatus && !invocation.NeverRan
		if result := host.InvokeWith(t.Context(), "orders", invocation); result.Succeeded != naive {
			t.Errorf("%s: %v", name, result)
		}
	}
}

func TestTrap9Lines(t *testing.T) {
	host := start(t, app(t, "careless logger", nil))
	if result := host.Invoke(t.Context(), "orders"); !result.Succeeded {
		t.Fatal(result)
	}
	if _, err := host.AwaitLine(t.Context(), func(l fakehost.Line) bool {
		return l.Text == "  in two lines"
	}); err != nil {
		t.Fatal(err)
	}
	if count(host, fakehost.Information, "all is well") != 1 || count(host, fakehost.Warning, "WARNing") != 1 ||
		count(host, fakehost.Error, "failed:") != 1 || count(host, fakehost.Error, "  in two lines") != 1 {
		t.Errorf("got %v", host.Logs())
	}
	ctx, cancel := context.WithCancel(t.Context())
	if line, err := host.AwaitLine(ctx, func(l fakehost.Line) bool { return l.Level == fakehost.Warning }); err != nil ||
		line.Source != "stderr" {
		t.Errorf("got %v, %v", line, err)
	}
	cancel()
	if line, err := host.AwaitLine(ctx, func(fakehost.Line) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", line, err)
	}
	host = start(t, app(t, "prefixed", nil))
	host.Invoke(t.Context(), "orders")
	if count(host, fakehost.Swallowed, "") != 2 || count(host, fakehost.Error, "no end of line") != 1 {
		t.Errorf("got %v", host.Logs())
	}
}

func TestTrap10ExecutableName(t *testing.T) {
	for name, text := range map[string]string{
		"a dot":          strings.Replace(hostJSON, "bin/handler", "./bin/handler", 1),
		"absent":         strings.Replace(hostJSON, "bin/handler", "bin/other", 1),
		"not executable": strings.Replace(hostJSON, "bin/handler", "host.json", 1),
		"no handler":     `{"version":"2.0"}`,
		"a port":         strings.Replace(hostJSON, `"customHandler":{`, `"customHandler":{"port":7,`, 1),
		"routes": strings.Replace(hostJSON, `"customHandler":{`,
			`"customHandler":{"http":{"routes":[{"route":"x"}]},`, 1),
		"a timeout": strings.Replace(hostJSON, "00:05:00", "5m", 1),
	} {
		t.Run(name, func(t *testing.T) {
			host, err := fakehost.Start(t.Context(), app(t, "good", map[string]string{"host.json": text}))
			if err == nil {
				host.Close()
				t.Error("the host started")
			}
		})
	}
	options := app(t, "good", nil)
	options.Settings["AzureFunctionsJobHost__customHandler__description__defaultExecutablePath"] = "./bin/handler"
	if host, err := fakehost.Start(t.Context(), options); err == nil {
		host.Close()
		t.Error("the setting that overrides host.json was not seen")
	}
}

func TestIndexing(t *testing.T) {
	schedule := func(text string) string { return strings.Replace(timerJSON, "%SCHEDULE%", text, 1) }
	host := start(t, app(t, "good", map[string]string{
		"nested/function.json":   schedule("%pollers__orders__schedule%"),
		"unset/function.json":    schedule("%NOT_SET%"),
		"open/function.json":     schedule("%SCHEDULE"),
		"seven/function.json":    schedule("0 0 * * * * *"),
		"triggers/function.json": `{"bindings":[]}`,
		"cut/function.json":      `{"bindings":[`,
		"span/function.json":     schedule("00:00:30"),
		"docs/readme.txt":        "no function",
	}))
	functions := host.Functions()
	for name, good := range map[string]bool{
		"orders": true, "worker": true, "span": true,
		"nested": false, "unset": false, "open": false, "seven": false, "triggers": false, "cut": false,
	} {
		err, found := functions[name]
		if !found || (err == nil) != good {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if result := host.InvokeWith(t.Context(), name, fakehost.Invocation{}); result.Succeeded != good {
			t.Errorf("%s: %v", name, result)
		}
	}
	if _, found := functions["docs"]; found {
		t.Error("a folder without function.json is no function")
	}
	noBundle := `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"bin/handler"}}}`
	if err := start(t, app(t, "good", map[string]string{"host.json": noBundle})).Functions()["worker"]; err == nil {
		t.Error("a queue trigger was indexed without the extension bundle")
	}
}

func TestLocalSettings(t *testing.T) {
	options := app(t, "good", map[string]string{
		"local.settings.json": `{"IsEncrypted":false,"Values":{"FAKEHOST_PLAY":"good","SCHEDULE":"0 * * * * *"}}`,
	})
	options.Settings = nil
	if result := start(t, options).Invoke(t.Context(), "orders"); !result.Succeeded {
		t.Error(result)
	}
	options = app(t, "good", nil)
	options.Settings = nil
	if host, err := fakehost.Start(t.Context(), options); err == nil {
		host.Close()
		t.Error("the host started without settings")
	}
}

// The host waits for the worker no longer than the test does.
func TestContextBoundsWaiting(t *testing.T) {
	host := start(t, app(t, "exit 200", nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if result := host.Invoke(ctx, "orders"); result.Succeeded || result.Why == "" {
		t.Error(result)
	}
}
