package sourcetest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

func noKey(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL, v " + f.e.BigInt + " NOT NULL")
	f.refused(plan.Config{Table: name, Cursor: []string{"v"}}, "source__key is required", "no primary key", name)
	f.refused(plan.Config{Table: name, Cursor: []string{"v"}, Key: []string{"id"}}, "source__key", "unique index")
	f.exec("CREATE UNIQUE INDEX ux_nokey ON " + name + " (id)")
	f.describe(f.open(plan.Config{Table: name, Cursor: []string{"v"}, Key: []string{"id"}}))
}

func view(f fixture) {
	name := orders(f)
	f.exec("CREATE VIEW v_orders AS SELECT id, v, note FROM " + name + " WHERE v IS NOT NULL")
	f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP VIEW v_orders") })
	f.refused(plan.Config{Table: "v_orders", Cursor: []string{"v"}}, "source__key is required",
		"a view has no primary key")
	src := f.open(plan.Config{Table: "v_orders", Cursor: []string{"v"}, Key: []string{"id"}})
	f.warned(f.describe(src).Warnings, "not provable")
	f.same("rows", keys(f.drain(src, nil, 2)), ids(1, 3, 4))
}

func keyNotUnique(f fixture) {
	name := f.table("a " + f.e.BigInt + " NOT NULL, b " + f.e.BigInt + " NOT NULL, n " + f.e.BigInt + " NULL, v " +
		f.e.BigInt + " NOT NULL, PRIMARY KEY (a, b)")
	f.exec("CREATE UNIQUE INDEX ux_keynotunique ON " + name + " (n)")
	f.refused(plan.Config{Table: name, Cursor: []string{"v"}, Key: []string{"a"}}, "source__key", "unique")
	f.refused(plan.Config{Table: name, Cursor: []string{"v"}, Key: []string{"n"}}, "source__key", "NULL")
	f.describe(f.open(plan.Config{Table: name, Cursor: []string{"v"}, Key: []string{"b", "a"}}))
}

func refused(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL, note " + f.e.Text +
		" NOT NULL")
	f.refused(plan.Config{Table: "t_nosuch", Cursor: []string{"v"}}, "source__table", "t_nosuch")
	f.refused(plan.Config{Table: "nosuch." + name, Cursor: []string{"v"}}, "source__table", "nosuch")
	f.refused(plan.Config{Table: name, Cursor: []string{"nosuch"}}, "source__cursor", "nosuch", "there are: id, v, note")
	f.refused(plan.Config{Table: name, Cursor: []string{"note"}}, "source__cursor", "text is not a cursor")
	f.refused(plan.Config{Table: name}, "source__cursor is required")
	// Every fault at once.
	f.refused(plan.Config{Table: name, Cursor: []string{"c1"}, Key: []string{"k1"}, OrderKey: []string{"o1"},
		Columns: []string{"p1"}, DeleteWhen: "d1", Where: "("},
		`"c1"`, `"k1"`, `"o1"`, `"p1"`, `"d1"`, "source__where")
}

func start(f fixture) {
	name := orders(f)
	at := func(start string) (string, error) {
		c, _, err := f.open(plan.Config{Table: name, Cursor: []string{"v"}, Start: start}).Start(f.ctx())
		return string(c), err
	}
	for _, c := range []struct{ start, want string }{
		{"", ""}, {"earliest", ""}, {"latest", `{"kind":"integer+pk","value":20,"tiebreaker":{"id":4}}`},
		{"10", `{"kind":"integer+pk","value":10}`},
	} {
		got, err := at(c.start)
		if err != nil {
			f.Errorf("%s: %v", c.start, err)
		}
		f.same("start="+c.start, got, c.want)
	}
	_, err := at("yesterday")
	f.isFault(err, poller.ErrConfig, "source__start", "yesterday")
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
	f.same("after the value", keys(f.drain(src, change.Cursor(`{"kind":"integer+pk","value":10}`), 1)), ids(3, 4))
	f.exec("DELETE FROM " + name)
	got, err := at("latest")
	if got != "" || err != nil {
		f.Errorf("the latest row of an empty table is %q (%v), not the beginning", got, err)
	}
}

func fingerprint(f fixture) {
	name := orders(f)
	base := plan.Config{Table: name, Cursor: []string{"v"}}
	of := func(change func(*plan.Config)) string {
		cfg := base
		change(&cfg)
		return f.describe(f.open(cfg)).Fingerprint
	}
	same := of(func(*plan.Config) {})
	if !strings.HasPrefix(same, "sha256:") || len(same) != 71 {
		f.Errorf("the fingerprint is %q", same)
	}
	for what, c := range map[string]func(*plan.Config){
		"projection": func(c *plan.Config) {
			c.Columns = []string{"note"}
		}, "start": func(c *plan.Config) { c.Start = "latest" },
		"the key said": func(c *plan.Config) {
			c.Key = []string{"ID"}
		}, "poller": func(c *plan.Config) { c.Poller = "other" },
	} {
		if of(c) != same {
			f.Errorf("%s changes the fingerprint", what)
		}
	}
	for what, c := range map[string]func(*plan.Config){
		"where": func(c *plan.Config) { c.Where = "1=1" }, "delete_when": func(c *plan.Config) { c.DeleteWhen = "gone" },
		"op": func(c *plan.Config) { c.Op = "delete" }, "identity": func(c *plan.Config) { c.Identity = "elsewhere" },
		"cursor": func(c *plan.Config) { c.Cursor = []string{"v", "id"} },
		"query":  func(c *plan.Config) { c.Table, c.Query, c.Key = "", "SELECT * FROM "+name, []string{"id"} },
	} {
		if of(c) == same {
			f.Errorf("%s does not change the fingerprint", what)
		}
	}
}

// eventIdentity: one id for one state of a row, another for another.
func eventIdentity(f fixture) {
	name := orders(f)
	cfg := plan.Config{Table: name, Cursor: []string{"v"}}
	first := f.drain(f.open(cfg), nil, 1)
	again := f.drain(f.open(cfg), nil, 10)
	seen := map[string]bool{}
	for i := range first {
		if first[i].ID != again[i].ID || len(first[i].ID) > 128 {
			f.Errorf("the ids of one row are %q and %q", first[i].ID, again[i].ID)
		}
		seen[first[i].ID] = true
	}
	if len(seen) != len(first) {
		f.Error("two rows have one id")
	}
	f.exec("UPDATE " + name + " SET note = 'changed' WHERE id = 1")
	if seen[f.drain(f.open(cfg), nil, 10)[0].ID] {
		f.Error("the row changed under the same cursor, and its id did not")
	}
}

func foreignCursor(f fixture) {
	src := f.open(plan.Config{Table: orders(f), Cursor: []string{"v"}})
	for _, c := range []string{
		`{"kind":"timestamp+pk","value":"2026-04-07T00:00:00Z","tiebreaker":{"id":1}}`, `{"kind":"integer+pk"}`,
		`{"kind":"snapshot","xmin":1}`,
		`{"kind":"integer+pk","value":1,"tiebreaker":{"other":1}}`,
		`{"kind":"integer+pk","value":1,"tiebreaker":{"id":1,"b":2}}`,
		`{"kind":"integer+pk","value":null,"tiebreaker":{"id":1}}`, `{"kind":"integer+pk","value":[1],"tiebreaker":{"id":1}}`,
		`{"kind":"integer+pk","value":"x","tiebreaker":{"id":1}}`,
	} {
		if f.e.Name == "sqlite" && strings.Contains(c, `"x"`) {
			continue // a column declared bigint may hold text there, and sorts it after every number
		}
		_, err := src.Fetch(f.ctx(), change.Range{After: change.Cursor(c)}, poller.Limit{Rows: 1, Bytes: plenty})
		f.isFault(err, poller.ErrConfig, "stored cursor", "state reset")
	}
}

func indexes(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	d := f.describe(f.open(plan.Config{Table: name, Cursor: []string{"v"}}))
	f.warned(d.Warnings, "no index serves the order")
	_, advice, ok := strings.Cut(strings.Join(ofIndexes(d.Warnings), "\n"), ": CREATE INDEX")
	if !ok {
		f.Fatalf("no advice: %q", d.Warnings)
	}
	f.exec("CREATE INDEX" + advice) // the advice is a statement that works
	d = f.describe(f.open(plan.Config{Table: name, Cursor: []string{"v"}}))
	for _, w := range ofIndexes(d.Warnings) {
		f.Errorf("with the index: %s", w)
	}
}

// ofIndexes are the warnings but for what the server does not show of late commits.
func ofIndexes(warnings []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(w string) bool {
		return strings.HasPrefix(w, "source__late_commits=")
	})
}

func insertOnly(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, created_at " + f.e.DateTime + " NOT NULL")
	d := f.describe(f.open(plan.Config{Table: name, Cursor: []string{"created_at"}}))
	f.warned(d.Warnings, "updates will not be seen")
	f.exec("INSERT INTO " + name + " (id, created_at) VALUES (1, '2026-04-07 01:23:45')")
	src := f.open(plan.Config{Table: name, Cursor: []string{"created_at"}})
	if e := f.page(src, nil, poller.Limit{Rows: 1, Bytes: plenty}).Events[0]; e.Undated ||
		e.Time.UTC().Format(time.DateOnly) != "2026-04-07" {
		f.Errorf("a row of 2026-04-07 is of %s, undated %v", e.Time, e.Undated)
	}
	d = f.describe(f.open(plan.Config{Table: name, Cursor: []string{"id"}}))
	f.warned(d.Warnings, "updates are not")
}

// dateCursor: the rows of a day share its date, so that only a window of a day finds all of them.
func dateCursor(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, changed date NOT NULL")
	cfg := plan.Config{Table: name, Cursor: []string{"changed"}, LateCommits: "overlap", LateWindow: time.Minute}
	f.warned(f.describe(f.open(cfg)).Warnings, "all rows of a day share")
	cfg.LateWindow = 24 * time.Hour
	if said := strings.Join(f.describe(f.open(cfg)).Warnings, " "); strings.Contains(said, "all rows of a day share") {
		f.Errorf("a window of a day finds them: %s", said)
	}
}

func check(f fixture) {
	name := orders(f)
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}, Where: "id < 100"})
	c, err := src.Check(f.ctx(), nil, 2, 500)
	if err != nil {
		f.Fatal(err)
	}
	f.same("rows", keys(c.Events), ids(1, 3))
	if c.NullCursors != 2 || c.Version == "" || c.KeyProof == "" || c.ReadError != nil || len(c.Columns) != 4 {
		f.Errorf("%+v", c)
	}
	if c.Index != "" || !strings.HasPrefix(c.CreateIndex, "CREATE INDEX") {
		f.Errorf("index %q, advice %q", c.Index, c.CreateIndex)
	}
	if !strings.Contains(c.First.Text, "501") || len(c.First.Params) != 0 || len(c.Next.Params) < 2 {
		f.Errorf("statements: %+v, %+v", c.First, c.Next)
	}
	for _, s := range []string{c.First.Text, c.Next.Text} {
		if strings.Contains(strings.ToUpper(s), "OFFSET") || !strings.Contains(s, "id < 100") {
			f.Errorf("statement: %s", s)
		}
	}
}

// schemaChange drops a column that the plan knows, and adds one: the next fetch goes by the new catalog.
func schemaChange(f fixture) {
	name := orders(f)
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
	p := f.page(src, nil, poller.Limit{Rows: 1, Bytes: plenty})
	f.exec("ALTER TABLE "+name+" DROP COLUMN note", "ALTER TABLE "+name+" ADD extra "+f.e.BigInt+" NULL")
	p = f.page(src, p.Events[0].Cursor, poller.Limit{Rows: 1, Bytes: plenty})
	if len(p.Events) != 1 || !strings.Contains(string(p.Events[0].Row), `"extra":null`) ||
		strings.Contains(string(p.Events[0].Row), "note") {
		f.Errorf("after the change: %s", p.Events[0].Row)
	}
	f.exec("DROP TABLE "+name, "CREATE TABLE "+name+" (id "+f.e.BigInt+")")
	_, err := src.Fetch(f.ctx(), change.Range{After: nil}, poller.Limit{Rows: 1, Bytes: plenty})
	f.isFault(err, poller.ErrConfig, "source__cursor")
}

// concurrent reads one source from several goroutines, as the outputs of one poller do.
func concurrent(f fixture) {
	src := f.open(plan.Config{Table: orders(f), Cursor: []string{"v"}, Connections: 2})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				p, err := src.Fetch(f.ctx(), change.Range{After: nil}, poller.Limit{Rows: 10, Bytes: plenty})
				if err != nil || keys(p.Events) != ids(1, 3, 4) {
					f.Errorf("%s (%v)", keys(p.Events), err)
				}
			}
		})
	}
	wg.Wait()
}
