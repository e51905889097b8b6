package host

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/templates"
)

func TestParseTimeSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"00:05:00": 5 * time.Minute, "1.02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "-1": 0,
		"23:59:59": 24*time.Hour - time.Second,
	} {
		if got, err := parseTimeSpan(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5m", "00:05", "24:00:00", "00:60:00", "-00:05:00", "x.00:05:00", "00:00:00:00"} {
		if got, err := parseTimeSpan(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// started is what every host.json needs beside its version.
const started = `"customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}`

// file is a host.json with these members.
func file(members ...string) string {
	return "{" + strings.Join(append([]string{`"version":"2.0"`}, members...), ",") + "}"
}

// What the host refuses to start with, or starts without the pollers, is a fault.
func TestHostFileFaults(t *testing.T) {
	for name, c := range map[string]struct {
		text, fault string
		timeout     time.Duration
	}{
		"good":                            {file(`"functionTimeout":"00:02:00"`, started), "", 2 * time.Minute},
		"as rowrelay functions writes it": {string(templates.Host(true)), "", defaultTimeout},
		"a program of one's own": {file(`"customHandler":{"description":{"defaultExecutablePath":"sh","arguments":["start.sh"]}}`), "",
			defaultTimeout},
		"unsaid": {file(started), "", defaultTimeout},
		"dot slash": {file(`"customHandler":{"description":{"defaultExecutablePath":"./rowrelay"}}`), "must not begin with ./",
			defaultTimeout},
		"no handler":      {file(), "defaultExecutablePath is missing", defaultTimeout},
		"no span":         {file(`"functionTimeout":"5m"`, started), "write \"00:05:00\"", defaultTimeout},
		"broken JSON":     {`{`, "cannot be read", defaultTimeout},
		"no version":      {`{` + started + `}`, `version is missing: write "version": "2.0"`, defaultTimeout},
		"another version": {`{"version":"3.0",` + started + `}`, `version is "3.0"`, defaultTimeout},
		"another command": {file(`"customHandler":{"description":{"defaultExecutablePath":"bin/rowrelay.exe","arguments":["run"]}}`),
			`arguments begin with "run"`, defaultTimeout},
		"forwarding": {file(`"customHandler":{"description":{"defaultExecutablePath":"rowrelay"},"enableForwardingHttpRequest":true}`),
			"customHandler.enableForwardingHttpRequest is true", defaultTimeout},
		"proxying": {file(`"customHandler":{"description":{"defaultExecutablePath":"rowrelay"},"enableProxyingHttpRequest":true}`),
			"customHandler.enableProxyingHttpRequest is true", defaultTimeout},
		"routes": {file(`"customHandler":{"description":{"defaultExecutablePath":"rowrelay"},"http":{"routes":[{"route":"{*r}"}]}}`),
			"customHandler.http.routes", defaultTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			testfile.Write(t, filepath.Join(root, "host.json"), c.text)
			host := readFile(root, nil)
			said := strings.Join(host.Faults(), "; ")
			if (c.fault == "") != (said == "") || !strings.Contains(said, c.fault) || host.Timeout() != c.timeout {
				t.Errorf("faults %q, timeout %v", said, host.Timeout())
			}
		})
	}
	missing := readFile(t.TempDir(), nil)
	if said := missing.Faults(); len(said) != 0 {
		t.Errorf("without the host: %q", said)
	}
}

// TestAppSettingsOverrideTheHostFile: as in the host, whatever their case.
func TestAppSettingsOverrideTheHostFile(t *testing.T) {
	root := t.TempDir()
	text := `{"version":"2.0","functionTimeout":"00:10:00","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}},"logging":{"logLevel":{"Default":"Information"}}}`
	testfile.Write(t, filepath.Join(root, "host.json"), text)
	host := readFile(root, []string{
		"AzureFunctionsJobHost__functionTimeout=00:01:00", "AZUREFUNCTIONSJOBHOST__logging__logLevel__Function.orders=None",
		"AzureFunctionsJobHost__extensionBundle__id=b", "AzureFunctionsJobHost:extensionBundle:version=[4.*, 5.0.0)",
		"AzureFunctionsJobHost__extensions__queues__maxDequeueCount=1", "AzureFunctionsJobHost__functions__0=audit",
		"AzureFunctionsJobHost__customHandler__enableProxyingHttpRequest=True",
		"AzureFunctionsJobHost__extensions__queues__maxPollingInterval=00:00:02",
	})
	if host.Timeout() != time.Minute || !host.HasBundle() || host.Extensions.Queues.MaxDequeueCount != 1 ||
		host.Extensions.Queues.MaxPollingInterval != "00:00:02" {
		t.Errorf("%+v", host)
	}
	if said := host.Faults(); len(said) != 1 || !strings.Contains(said[0], "enableProxyingHttpRequest is true") {
		t.Errorf("%q", said)
	}
	if host.LeavesOut("audit") != nil || host.LeavesOut("orders") == nil {
		t.Errorf("functions: %q", host.Functions)
	}
	if level, rule := host.Logging.Level("Function.orders.User"); level != "None" ||
		rule != "logging.logLevel.function.orders" {
		t.Errorf("%s by %s", level, rule)
	}
	host = readFile(root, []string{"AzureFunctionsJobHost__functionTimeout=soon"})
	if said := strings.Join(host.Faults(), "; "); !strings.Contains(said,
		`AzureFunctionsJobHost__functionTimeout "soon" is not a time span`) {
		t.Errorf("%q", said)
	}
	missing := readFile(t.TempDir(), []string{"AzureFunctionsJobHost__functionTimeout=00:01:00"})
	if missing.FunctionTimeout != "" {
		t.Error("there is no host to override")
	}
}

// TestLogLevelsOfTheHost: the longest beginning of the category wins, and the provider's own rules before the general
// ones.
func TestLogLevelsOfTheHost(t *testing.T) {
	logging := Logging{LogLevel: LogLevels{"Default": "Warning", "Function": "Information", "Function.orders": "Error",
		"Host.*.Console": "Debug"}}
	logging.fold()
	for category, want := range map[string]string{
		"Function.orders": "Error", "Function.orders.User": "Error", "Function.lines": "Information",
		"Host.Function.Console": "Debug", "Host.Results": "Warning",
	} {
		if got, rule := logging.Level(category); got != want {
			t.Errorf("%s is %s by %s, want %s", category, got, rule, want)
		}
	}
	logging.ApplicationInsights.LogLevel = LogLevels{"default": "Trace"}
	if got, _ := logging.Level("Function.orders"); got != "Trace" {
		t.Errorf("Application Insights has its own: %s", got)
	}
}

func readFile(root string, environ []string) File {
	return App{Root: root, Environ: environ}.File()
}

// TestHostFileWarnings: the host takes it, and does something that nobody wants.
func TestHostFileWarnings(t *testing.T) {
	root := t.TempDir()
	text := file(started, `"retry":{"strategy":"fixedDelay","maxRetryCount":2,"delayInterval":"00:00:05"}`)
	testfile.Write(t, filepath.Join(root, "host.json"), text)
	host := readFile(root, nil)
	if said := host.Warnings(); len(said) != 1 || !strings.Contains(said[0], "retry") || len(host.Faults()) > 0 {
		t.Errorf("%q, %q", said, host.Faults())
	}
}

// TestAFilterLeavesFunctionsOut: host.json names the functions that it loads, whatever their case.
func TestAFilterLeavesFunctionsOut(t *testing.T) {
	none, some := File{Path: "host.json"}, File{Path: "host.json", Functions: []string{"Orders"}}
	if err := none.LeavesOut("orders"); err != nil {
		t.Error(err)
	}
	if err := some.LeavesOut("orders"); err != nil {
		t.Error(err)
	}
	if err := some.LeavesOut("audit"); err == nil ||
		!strings.Contains(err.Error(), `host.json: functions leaves out audit`) {
		t.Errorf("%v", err)
	}
}
