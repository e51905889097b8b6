package testenv

import (
	osexec "os/exec"
	"strings"
	"testing"
)

// Chromium returns the path of a real browser. Without one the test fails: `make test` installs it.
func Chromium(tb testing.TB) string {
	tb.Helper()
	path, err := osexec.LookPath("chromium")
	if err != nil {
		tb.Fatalf("testenv: this test needs a real browser: apt-get install -y chromium (make test does it): %v", err)
	}
	out, err := osexec.CommandContext(tb.Context(), path, "--version").Output()
	version := strings.Fields(string(out))
	if err != nil || len(version) < 2 || version[0] != "Chromium" {
		tb.Fatalf("testenv: %s --version says %q: %v", path, out, err)
	}
	record(tb, "Chromium", version[1])
	return path
}
