package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseTimeSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"00:05:00": 5 * time.Minute, "1.02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "-1": 0, "23:59:59": 24*time.Hour - time.Second,
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
		"good":        {`{"functionTimeout":"00:02:00","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`, "", 2 * time.Minute},
		"unsaid":      {`{"customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`, "", defaultTimeout},
		"dot slash":   {`{"customHandler":{"description":{"defaultExecutablePath":"./rowrelay"}}}`, "must not begin with ./", defaultTimeout},
		"no handler":  {`{}`, "defaultExecutablePath is missing", defaultTimeout},
		"no span":     {`{"functionTimeout":"5m","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`, "write \"00:05:00\"", defaultTimeout},
		"broken JSON": {`{`, "cannot be read", defaultTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "host.json"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			host := readHost(root)
			said := strings.Join(host.faults(), "; ")
			if (c.fault == "") != (said == "") || !strings.Contains(said, c.fault) || host.timeout() != c.timeout {
				t.Errorf("faults %q, timeout %v", said, host.timeout())
			}
		})
	}
	missing := readHost(t.TempDir())
	if said := missing.faults(); len(said) != 0 {
		t.Errorf("without the host: %q", said)
	}
}
