// Package e2e holds the tests that start the real binary: under a fake Functions host, against real PostgreSQL, Azurite
// and HTTP receivers, and alone.
package e2e

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
)

// program is the path of the product, built once for all tests.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	code := func() int {
		// Most of what runs in parallel here waits for a dead owner's lease: that needs no processor.
		if err := flag.Set("test.parallel", "8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		dir, err := os.MkdirTemp("", "rowrelay-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
		program = filepath.Join(dir, "rowrelay")
		build := exec.Command("go", "build", "-o", program, "github.com/rowrelay/rowrelay/cmd/rowrelay")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}()
	os.Exit(code)
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

func (s settings) environ() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir()}
	for k, v := range s {
		env = append(env, k+"="+v)
	}
	return env
}

// functionApp makes a script root as it is published: the repository's own host.json, the program, and a function for
// each poller made by the binary itself.
func functionApp(t *testing.T, s settings, pollers ...string) string {
	t.Helper()
	root := t.TempDir()
	host, err := os.ReadFile("../host.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "host.json"), host, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program, filepath.Join(root, "rowrelay")); err != nil {
		t.Fatal(err)
	}
	write := exec.CommandContext(t.Context(), program, append([]string{"functions"}, pollers...)...)
	write.Dir, write.Env = root, s.environ()
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("rowrelay functions: %v\n%s", err, out)
	}
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

// withSchedules adds the app setting that function.json names for each poller.
func withSchedules(s settings) settings {
	more := settings{}
	for name := range s {
		if rest, ok := strings.CutPrefix(name, "pollers__"); ok {
			poller, _, _ := strings.Cut(rest, "__")
			more[strings.ToUpper(poller)+"_SCHEDULE"] = "*/10 * * * * *"
		}
	}
	return s.with(more)
}

// command runs the program alone, in dir, and returns what it wrote and whether it succeeded.
func command(ctx context.Context, dir string, s settings, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, s.environ()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
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

// unique makes a name for a container or queue of the shared emulator.
func unique(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:12]) }
