package demo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// TestSmallProgramIsSmall bounds what a newcomer waits for: each of these packages is compiled before the first row.
func TestSmallProgramIsSmall(t *testing.T) {
	t.Parallel()
	const most = 440 // 417 in November 2026, of the whole program's 774
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "small",
		"github.com/rowrelay/rowrelay/cmd/rowrelay")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) > most || len(packages) < most/2 {
		t.Errorf("%d packages, at most %d are wanted", len(packages), most)
	}
	for _, name := range packages {
		for _, large := range []string{"github.com/Azure/", "github.com/jackc/", "github.com/go-sql-driver/",
			"github.com/microsoft/", "github.com/twmb/", "github.com/rabbitmq/", "google.golang.org/grpc"} {
			if strings.HasPrefix(name, large) {
				t.Errorf("it has %s, which no demo needs", name)
			}
		}
	}
}

// TestSmallProgram: what `make demo` compiles shows the demo, and says of what it leaves out where that is.
func TestSmallProgram(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the program is not built: `make test` runs this")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "rowrelay-demo")
	if err := programtest.Build(path, "-tags", "small"); err != nil { // as make demo does
		t.Fatal(err)
	}
	run := func(environ []string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir, cmd.Env = dir, append(environ, "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (args[0] == "check") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	out := run(nil, "demo", "--for", "1s", "--rate", "50")
	if !strings.Contains(out, "missing 0, ") || !strings.Contains(out, "./rowrelay-demo demo --clean") {
		t.Errorf("the demo says:\n%s", out)
	}
	const poller = "pollers__orders__"
	others := []string{"DB=postgres://u:secret@db/shop", "TO=broker:9092", "state__kind=blob",
		"state__connection=STORE", "STORE=UseDevelopmentStorage=true", "state__app_name=shop",
		poller + "source__connection=DB", poller + "source__table=orders", poller + "source__cursor=id",
		poller + "output__kind=kafka", poller + "output__connection=TO", poller + "output__destination=orders"}
	if out := run(others, "check"); strings.Count(out, "make build makes the whole one") < 2 ||
		strings.Contains(out, "secret") {
		t.Errorf("it says of an engine and a store that it does not know:\n%s", out)
	}
}
