// Package programtest builds the program, once for all tests of a process, and starts it: for tests of what users run.
//
//	func TestMain(m *testing.M) { programtest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		p := programtest.Start(t, programtest.Options{Settings: settings}, "run")
//		p.Until("it runs", func() bool { return strings.Contains(p.Log(), `"msg":"running"`) })
//		if code := p.Interrupt(); code != 0 {
//			t.Errorf("exit code %d", code)
//		}
//	}
//
// A test that fails ends with the last lines of every process that it started.
package programtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// built is the directory of the program; "" while no test has wanted it.
var built string

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rowrelay-program-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "rowrelay")
	return path, Build(path)
})

// Build makes the program as `make build` does, with more flags of go build. They are read where make reads them: the
// quick starts and the containers' stages are built so too, and all find each other's packages in the build cache.
func Build(path string, flags ...string) error {
	const build = `cd "$(dirname "$(go env GOMOD)")" && . scripts/shipped.sh && exec go build -ldflags "-s -w" "$@" ./cmd/rowrelay`
	cmd := exec.Command("sh", slices.Concat([]string{"-c", build, "sh", "-o", path}, flags)...) //nolint:gosec,noctx // fixed words and a directory of its own; go test's own limit ends it
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return nil
}

// Path is where the program is. The first call builds it.
func Path(tb testing.TB) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("the program is not built: `make test` runs this")
	}
	path, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// AtOnce lets n parallel tests run at once, whatever the number of processors: for a package whose tests wait for
// leases, schedules and other processes rather than work. TestMain calls it before Main.
func AtOnce(n int) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Main runs a package's tests, removes what was built for them, and exits.
func Main(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built) // a temporary directory
	}
	os.Exit(code)
}
