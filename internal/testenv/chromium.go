package testenv

import (
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"
)

// Chromium returns the path of a real browser. Without one the test fails: `make test` installs it.
func Chromium(tb testing.TB) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a browser: `make test` runs this")
	}
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

// ChromiumProfile returns a new directory for a browser's profile. Call it before the browser is started: it is removed
// after the browser's end, with some patience, because its children write there for a moment longer, which a TempDir
// takes for a failure.
func ChromiumProfile(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "rowrelay-chromium-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := Await(10*time.Second, func() error { return os.RemoveAll(dir) }); err != nil {
			tb.Logf("testenv: %s is left: %v", dir, err)
		}
	})
	return dir
}
