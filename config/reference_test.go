package config

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

func TestReferenceIsFresh(t *testing.T) {
	var want bytes.Buffer
	if err := WriteReference(&want); err != nil {
		t.Fatal(err)
	}
	got := testfile.Read(t, "../docs/settings.md")
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/settings.md is stale: run `go generate ./config`")
	}
	for _, table := range [][]setting{appSettings, pollerSettings, outputSettings} {
		for _, row := range table {
			if row.doc == "" || !strings.Contains(want.String(), row.name) {
				t.Errorf("%s has no place or no meaning in the reference", row.name)
			}
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestReferenceReportsAFailedWrite(t *testing.T) {
	if err := WriteReference(fullDisk{}); err == nil {
		t.Error("no error")
	}
}

func TestCheckBudget(t *testing.T) {
	app, err := Load(with("pollers__orders__tick_budget=50s", "pollers__orders__output__timeout=30s",
		"pollers__orders__outputs__b__kind=stdout", "pollers__orders__outputs__b__timeout=40s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		timeout time.Duration
		want    string
	}{
		{0, ""}, {-1, ""}, {5 * time.Minute, ""}, {101 * time.Second, ""},
		{100 * time.Second, "pollers__orders__tick_budget: 50s, the longest output timeout 40s and 10s together are not below the host's functionTimeout 1m40s. " +
			"Write 49s or less, or raise functionTimeout in host.json above 1m40s."},
		{30 * time.Second, "pollers__orders__tick_budget: 50s, the longest output timeout 40s and 10s together are not below the host's functionTimeout 30s. " +
			"Raise functionTimeout in host.json above 1m40s."},
	} {
		if got := app.CheckBudget(c.timeout).Error(); got != c.want {
			t.Errorf("%v: %s", c.timeout, got)
		}
	}
}

// TestSetLinger: as long again as the budget, where the host has time for it.
func TestSetLinger(t *testing.T) {
	p := &Poller{TickBudget: 50 * time.Second, Outputs: []Output{{Timeout: 30 * time.Second}}}
	for functionTimeout, want := range map[time.Duration]time.Duration{
		0: 50 * time.Second, 5 * time.Minute: 50 * time.Second, 2 * time.Minute: 29 * time.Second, 90 * time.Second: 0,
	} {
		if p.SetLinger(functionTimeout); p.Linger != want {
			t.Errorf("of %s: %s, want %s", functionTimeout, p.Linger, want)
		}
	}
}
