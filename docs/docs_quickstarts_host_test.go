package docs_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
)

// quickstartOutsiders are the programs of the pages that no test machine has. Their stand-ins succeed and do nothing;
// func also remembers where it was called, with which settings, and what it was given to publish.
var quickstartOutsiders = []string{"az", "curl", "docker", "npx", "sqlcmd"}

// outsidersOf is the directory of a page's stand-ins.
type outsidersOf struct {
	dir  string
	path string // the line of a script that puts them first in PATH
}

func newOutsiders(t *testing.T) outsidersOf {
	t.Helper()
	o := outsidersOf{dir: t.TempDir()}
	o.path = fmt.Sprintf("export PATH=%q:\"$PATH\"\n", filepath.Join(o.dir, "bin"))
	core := fmt.Sprintf(`#!/bin/bash -eu
case "$1 ${2-}" in
"start ") echo "$PWD" >%[1]q/started; env -0 >%[1]q/environment ;;
"azure functionapp") echo "$*" >%[1]q/arguments; cp -a . %[1]q/published ;;
*) echo "func $*: the test knows no such command" >&2; exit 1 ;;
esac
`, o.dir)
	o.write(t, "func", core)
	// What package.sh builds is tested beside it (deploy/docker_test.go).
	o.write(t, "go", "#!/bin/bash -eu\nwhile [[ $1 != -o ]]; do shift; done\n: >\"$2\"\n")
	for _, name := range quickstartOutsiders {
		o.write(t, name, "#!/bin/sh\n")
	}
	if err := publishScripts(); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *outsidersOf) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(o.dir, "bin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// publishScripts puts into the copy of the repository what copyRepository leaves out: scripts are programs.
var publishScripts = sync.OnceValue(func() error {
	binary, err := built()
	if err != nil {
		return err
	}
	for _, name := range []string{"publish.sh", "package.sh"} {
		text, err := os.ReadFile(filepath.Join("..", "deploy", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(binary), "deploy", name), text, 0o700); err != nil {
			return err
		}
	}
	return nil
})

// looksAtTools judges what the page did with Core Tools.
func (q *quickstart) looksAtTools(t *testing.T, o outsidersOf) {
	t.Helper()
	for name, of := range map[string]string{"started": "start", "published": "publish"} {
		if _, err := os.Stat(filepath.Join(o.dir, name)); (err == nil) != (q.tools == of) {
			t.Errorf("func %s: %v; the page is for %q", of, err, q.tools)
			return
		}
	}
	switch q.tools {
	case "start":
		q.starts(t, o)
	case "publish":
		publishes(t, o)
	}
}

// starts gives the directory to the stand-in of the host, after what Core Tools look at before they start the real one.
func (q *quickstart) starts(t *testing.T, o outsidersOf) {
	t.Helper()
	dir := strings.TrimSuffix(read(t, filepath.Join(o.dir, "started")), "\n")
	settings, err := fakehost.LocalSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range strings.SplitSeq(read(t, filepath.Join(o.dir, "environment")), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" { // the environment wins
			settings[name] = value
		}
	}
	if settings["AzureWebJobsStorage"] == "" {
		t.Error("func start: Missing value for AzureWebJobsStorage in local.settings.json")
	}
	if got := settings["FUNCTIONS_WORKER_RUNTIME"]; got != "custom" {
		t.Errorf("func start: FUNCTIONS_WORKER_RUNTIME is %q, not custom", got)
	}
	host, err := fakehost.Start(t.Context(), fakehost.Options{Root: dir, Settings: settings})
	if err != nil {
		t.Fatalf("func start: %v", err)
	}
	defer host.Close()
	functions := host.Functions()
	if names := slices.Sorted(maps.Keys(functions)); !slices.Equal(names, []string{"orders", "status", "statusactions"}) {
		t.Errorf("func start finds the functions %q", names)
	}
	for name, err := range functions {
		if err != nil {
			t.Errorf("func start leaves %s out: %v", name, err)
		}
	}
	if t.Failed() {
		return
	}
	result := host.Invoke(t.Context(), "orders")
	if wanted := q.url != nil; result.Succeeded != wanted { // without an engine the tick is refused
		t.Fatalf("the tick succeeds is %v: %+v\n%v", result.Succeeded, result, host.Logs())
	}
	if q.url != nil {
		return
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := host.AwaitLine(soon, func(l fakehost.Line) bool {
		return strings.Contains(l.Text, "connection refused")
	}); err != nil {
		t.Errorf("the tick was not refused by the port: %v\n%v", err, host.Logs())
	}
}

// publishes looks at the directory that func was given: what `rowrelay functions` wrote for the page, and the program.
func publishes(t *testing.T, o outsidersOf) {
	t.Helper()
	if got := read(t, filepath.Join(o.dir, "arguments")); got != "azure functionapp publish shop-relay --custom\n" {
		t.Errorf("func %s", got)
	}
	var files []string
	root := filepath.Join(o.dir, "published")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(root, path)
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"host.json", "orders/function.json", "rowrelay", "status/function.json",
		"statusactions/function.json"}; !slices.Equal(files, want) {
		t.Errorf("func publishes %q, want %q", files, want)
	}
}
