package receivers

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/webhook"
)

// program is a receiver in another language: what builds it, if anything does, and what runs it.
type program struct {
	name       string
	build, run func(tools, dir string) []string
	// database is how its driver writes the connection; nil: as a URL.
	database func(*url.URL) string
}

var programs = []program{
	{"Python", nil, func(tools, _ string) []string { return []string{filepath.Join(tools, "venv/bin/python"), "upsert.py"} }, nil},
	{"TypeScript", func(tools, dir string) []string {
		return []string{filepath.Join(tools, "node_modules/.bin/tsc"), "--strict", "--target", "es2022", "--module",
			"commonjs", "--esModuleInterop", "--moduleResolution", "node", "--typeRoots",
			filepath.Join(tools, "node_modules/@types"),
			"--types", "node", "--outDir", dir, "upsert.ts"}
	}, func(_, dir string) []string { return []string{"node", filepath.Join(dir, "upsert.js")} }, nil},
	{"C#", func(tools, dir string) []string {
		return []string{"mcs", "-r:System.Data.dll", "-r:" + filepath.Join(tools, "Newtonsoft.Json.dll"),
			"-out:" + filepath.Join(dir, "Upsert.exe"), "Upsert.cs"}
	}, func(_, dir string) []string { return []string{"mono", filepath.Join(dir, "Upsert.exe")} }, testenv.ODBC},
}

// The receivers of other languages bear what the one in Go does, sent by Rowrelay's own output.
func TestUpsertInOtherLanguages(t *testing.T) {
	tools := tools(t)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if p.build != nil {
				args := p.build(tools, dir)
				if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
			database := testenv.Postgres(t)
			db := testenv.Open(t, "pgx", database)
			connection := database
			if p.database != nil {
				u, err := url.Parse(database)
				if err != nil {
					t.Fatal("not a URL") // without the value: it holds a password
				}
				connection = p.database(u)
			}
			address, _ := start(t, p.run(tools, dir), "DATABASE_URL="+connection, "PORT=0",
				"NODE_PATH="+filepath.Join(tools, "node_modules"))
			to := func(format change.Format) *webhook.Output {
				o, err := webhook.New(webhook.Config{URL: address, Format: format, Concurrency: 2})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := o.Close(); err != nil {
						t.Error(err)
					}
				})
				return o
			}
			for _, format := range []change.Format{change.RowChange, change.SQLTrigger, change.Row} {
				refused(t, to(format), delivery(1, 1, event(1, 1, `{"id":1}`)), 0)
			}
			keepsTheNewest(t, to(change.CloudEvents), func(query string) map[string]string { return table(t, db, query) },
				"data::json->>'id', data::json->>'v'")
		})
	}
}

// tools brings the languages' tools, and returns the directory that holds them.
func tools(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("../../scripts/examples.sh").Output()
	if err != nil {
		t.Fatalf("scripts/examples.sh: %v: it says why on standard error", err)
	}
	return strings.TrimSpace(string(out))
}

// start runs a receiver to the end of the test, and returns the address that it prints when it listens, and what it
// prints after that.
func start(t *testing.T, args []string, environ ...string) (string, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec // a program of this folder
	cmd.Env = append(os.Environ(), environ...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Log(said.String())
		}
	})
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%s did not listen: %v", args[0], err)
	}
	return strings.TrimSpace(address), lines
}
