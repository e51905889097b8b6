package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

func TestHostFileFaults(t *testing.T) {
	for name, c := range map[string]struct {
		text, fault string
		timeout     time.Duration
	}{
		"good": {`{"functionTimeout":"00:02:00","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`,
			"", 2 * time.Minute},
		"unsaid": {`{"customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`, "", defaultTimeout},
		"dot slash": {`{"customHandler":{"description":{"defaultExecutablePath":"./rowrelay"}}}`, "must not begin with ./",
			defaultTimeout},
		"no handler": {`{}`, "defaultExecutablePath is missing", defaultTimeout},
		"no span": {`{"functionTimeout":"5m","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`,
			"write \"00:05:00\"", defaultTimeout},
		"broken JSON": {`{`, "cannot be read", defaultTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "host.json"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
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
	text := `{"functionTimeout":"00:10:00","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}},"logging":{"logLevel":{"Default":"Information"}}}`
	if err := os.WriteFile(filepath.Join(root, "host.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	host := readFile(root, []string{
		"AzureFunctionsJobHost__functionTimeout=00:01:00", "AZUREFUNCTIONSJOBHOST__logging__logLevel__Function.orders=None",
		"AzureFunctionsJobHost__extensionBundle__id=b", "AzureFunctionsJobHost:extensionBundle:version=[4.*, 5.0.0)",
		"AzureFunctionsJobHost__extensions__queues__maxDequeueCount=1",
		"AzureFunctionsJobHost__extensions__queues__maxPollingInterval=00:00:02",
	})
	if host.Timeout() != time.Minute || !host.HasBundle() || host.Extensions.Queues.MaxDequeueCount != 1 ||
		host.Extensions.Queues.MaxPollingInterval != "00:00:02" {
		t.Errorf("%+v", host)
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
