package receivers

import (
	"bufio"
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
}

var programs = []program{
	{"Python", nil, func(tools, _ string) []string { return []string{filepath.Join(tools, "venv/bin/python"), "upsert.py"} }},
	{"TypeScript", func(tools, dir string) []string {
		return []string{filepath.Join(tools, "node_modules/.bin/tsc"), "--strict", "--target", "es2022", "--module",
			"commonjs", "--esModuleInterop", "--moduleResolution", "node", "--typeRoots",
			filepath.Join(tools, "node_modules/@types"),
			"--types", "node", "--outDir", dir, "upsert.ts"}
	}, func(_, dir string) []string { return []string{"node", filepath.Join(dir, "upsert.js")} }},
}

// The receivers of other languages bear what the one in Go does, sent by Rowrelay's own output.
func TestUpsertInOtherLanguages(t *testing.T) {
	out, err := exec.Command("../../scripts/examples.sh").Output()
	if err != nil {
		t.Fatalf("scripts/examples.sh: %v: it says why on standard error", err)
	}
	tools := strings.TrimSpace(string(out))
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
			address := start(t, p.run(tools, dir), "DATABASE_URL="+database, "PORT=0",
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

// start runs a receiver to the end of the test, and returns the address that it prints when it listens.
func start(t *testing.T, args []string, environ ...string) string {
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
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s did not listen: %v", args[0], err)
	}
	return strings.TrimSpace(address)
}
