package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestTables lists what a pattern means on the engines that run here: tables with the cursor and a key, and why others
// are left out; no views, none of ours, none of the engine's.
func TestTables(t *testing.T) {
	for name, engine := range map[string]struct {
		url        string
		ddl        []string
		here       string // the schema of names without one
		quote, all string // what a pattern of all schemas means, in order
	}{
		"postgres": {testenv.Postgres(t), []string{`CREATE SCHEMA sales`,
			`CREATE TABLE sales.orders (id int PRIMARY KEY, version int)`,
			`CREATE TABLE parts (id int PRIMARY KEY, version int) PARTITION BY RANGE (id)`,
			`CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (9)`}, "public", `"`,
			`public."Order.Lines" public.parts public.people sales.orders`},
		"mysql":  {testenv.MySQL(t), nil, "", "`", ""},
		"sqlite": {testenv.SQLite(t), nil, "main", `"`, `main."Order.Lines" main.people`},
	} {
		t.Run(name, func(t *testing.T) {
			q := engine.quote
			if path, ok := strings.CutPrefix(engine.url, "sqlite:"); ok {
				testfile.Write(t, path, "")
			}
			conn, err := engines.Parse(engine.url)
			if err != nil {
				t.Fatal(err)
			}
			db := conn.WriteDB(1)
			defer db.Close() //nolint:errcheck // a test's
			testenv.Exec(t, db, append([]string{`CREATE TABLE people (id int PRIMARY KEY, version int)`,
				`CREATE TABLE ` + q + `Order.Lines` + q + ` (ID int PRIMARY KEY, VERSION int)`,
				`CREATE TABLE nokey (version int)`, `CREATE TABLE nocursor (id int PRIMARY KEY)`,
				`CREATE TABLE rowrelay_state (id int PRIMARY KEY, version int)`,
				`CREATE VIEW seen AS SELECT * FROM people`}, engine.ddl...)...)
			list := func(pattern string, more ...string) (string, string) {
				t.Helper()
				var found config.Found
				_, _ = config.LoadTables(append([]string{"DB=" + engine.url, "state__kind=file",
					"pollers__a__source__connection=DB", "pollers__a__source__cursor=version",
					"pollers__a__output__kind=stdout", "pollers__a__source__tables=" + pattern},
					more...), func(p *config.Poller) (config.Found, error) {
					var err error
					if found, err = inspect.Tables(t.Context(), p, time.Minute); err != nil {
						t.Error(err)
					}
					return found, nil
				})
				var names []string
				for _, table := range found.Tables {
					names = append(names, table.Written)
				}
				return strings.Join(names, " "), strings.Join(found.Out, ", ")
			}
			here, out := list("*, !parts")
			schema := engine.here
			if schema == "" {
				schema, _, _ = strings.Cut(here, ".")
			}
			want := schema + `."Order.Lines" ` + schema + ".people"
			if here != want || out != schema+".nocursor (no column version), "+schema+".nokey (no primary key)" {
				t.Errorf("means %s, and leaves out %s; want %s", here, out, want)
			}
			if keyed, _ := list(schema+".*key", "pollers__a__source__key=version"); keyed != schema+".nokey" {
				t.Errorf("with a key of its own: %s", keyed)
			}
			if all, _ := list("*.*"); engine.all != "" && all != engine.all {
				t.Errorf("all schemas: %s, want %s", all, engine.all)
			}
		})
	}
}
