// Package e2e holds the tests that start the real binary: under a fake Functions host, against real PostgreSQL, Azurite
// and HTTP receivers, and alone.
package e2e

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

func TestMain(m *testing.M) {
	if app := os.Getenv(hostVariable); app != "" {
		beHost(app)
	}
	programtest.AtOnce(8) // most of what runs in parallel here waits for a dead owner's lease
	programtest.Main(m)
}

// settings are app settings by name.
type settings map[string]string

// with returns a copy with more settings; an empty value removes one.
func (s settings) with(more settings) settings {
	merged := maps.Clone(s)
	for k, v := range more {
		if v == "" {
			delete(merged, k)
		} else {
			merged[k] = v
		}
	}
	return merged
}

// renamed returns a copy in which the poller orders has another name.
func (s settings) renamed(name string) settings {
	copied := settings{}
	for setting, value := range s {
		copied[strings.Replace(setting, "pollers__orders__", "pollers__"+name+"__", 1)] = value
	}
	return copied
}

// functionApp makes a script root as it is published: the repository's own host.json, the program, and a function for
// each poller made by the binary itself.
func functionApp(t *testing.T, s settings, pollers ...string) string {
	t.Helper()
	root := t.TempDir()
	host := testfile.Read(t, "../host.json")
	testfile.Write(t, filepath.Join(root, "host.json"), host)
	if err := os.Link(programtest.Path(t), filepath.Join(root, "rowrelay")); err != nil {
		t.Fatal(err)
	}
	stdout(t, root, s, append([]string{"functions"}, pollers...)...)
	return root
}

// startHost starts the fake host on a function app.
func startHost(t *testing.T, root string, s settings) *fakehost.Host {
	t.Helper()
	host, err := fakehost.Start(t.Context(), fakehost.Options{Root: root, Settings: withSchedules(s)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// withSchedules adds the app setting that function.json names for each poller that s gives none.
func withSchedules(s settings) settings {
	more := settings{}
	for name := range s {
		if rest, ok := strings.CutPrefix(name, "pollers__"); ok {
			poller, _, _ := strings.Cut(rest, "__")
			more[strings.ToUpper(poller)+"_SCHEDULE"] = "*/10 * * * * *"
		}
	}
	return more.with(s)
}

// startRun starts `rowrelay run` in dir; the end of the test kills it.
func startRun(t *testing.T, dir string, s settings, args ...string) *programtest.Process {
	t.Helper()
	return programtest.Start(t, programtest.Options{Dir: dir, Settings: s}, append([]string{"run"}, args...)...)
}

// command runs the program alone, in dir, and returns what it wrote and whether it succeeded.
func command(t *testing.T, dir string, s settings, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := programtest.Command(t.Context(), t, programtest.Options{Dir: dir, Settings: s}, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// stdout runs a command that must succeed, and returns what it wrote to stdout.
func stdout(t *testing.T, dir string, s settings, args ...string) string {
	t.Helper()
	out, errs, err := command(t, dir, s, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, errs)
	}
	return out
}

// refusal runs a command that must end with exit code 1, and returns what it wrote to stderr.
func refusal(t *testing.T, dir string, s settings, args ...string) string {
	t.Helper()
	out, errs, err := command(t, dir, s, args...)
	if code := exitCode(t, err); code != 1 && code != 2 { // 2: it makes no sense, whatever there is
		t.Errorf("%v was not refused: %v\n%s%s", args, err, out, errs)
	}
	return errs
}

// exitCode is a command's.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// must fails the test when invoking fails, with everything that the host saw.
func must(t *testing.T, host *fakehost.Host, function string) {
	t.Helper()
	if r := host.Invoke(t.Context(), function); !r.Succeeded {
		t.Fatalf("%s: %+v\n%s", function, r, transcript(host))
	}
}

// mustFail returns the one line by which a failed tick says why.
func mustFail(t *testing.T, host *fakehost.Host, function string) string {
	t.Helper()
	before := len(failures(host, function))
	if r := host.Invoke(t.Context(), function); r.Succeeded || r.Hung {
		t.Fatalf("%s should have failed: %+v\n%s", function, r, transcript(host))
	}
	var lines []string
	until(t, "the failure to be said", func() bool { // a line may arrive after the answer
		lines = failures(host, function)[before:]
		return len(lines) > 0
	})
	if len(lines) != 1 {
		t.Fatalf("%s: want one error line, got %d:\n%s", function, len(lines), transcript(host))
	}
	return lines[0]
}

// failures are the lines that the host took for errors of the function's ticks.
func failures(host *fakehost.Host, function string) []string {
	var lines []string
	for _, line := range host.Logs() {
		if line.Level == fakehost.Error && strings.Contains(line.Text, `"msg":"tick failed"`) &&
			strings.Contains(line.Text, fmt.Sprintf(`"poller":%q`, function)) {
			lines = append(lines, line.Text)
		}
	}
	return lines
}

func transcript(host *fakehost.Host) string {
	var b strings.Builder
	for _, line := range host.Logs() {
		fmt.Fprintf(&b, "%-11s %s: %s\n", line.Level, line.Source, line.Text)
	}
	return b.String()
}

// until waits for a condition.
func until(t *testing.T, what string, met func() bool) { t.Helper(); programtest.Until(t, what, met) }

// unique makes a name for a container or queue of the shared emulator.
func unique(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:12]) }
