package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reloading has a file of settings read, and then another one.
type reloading struct {
	t    *testing.T
	path string
	g    *generation
	errs bytes.Buffer // the log
}

func newReloading(t *testing.T, text string) *reloading {
	t.Helper()
	r := &reloading{t: t, path: filepath.Join(t.TempDir(), "rowrelay.yaml")}
	r.write(text)
	var err error
	if r.g, err = newGeneration(&console{config: r.path, out: io.Discard, err: &r.errs}, &runOptions{}); err == nil {
		err = r.g.wire(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.g.close)
	return r
}

func (r *reloading) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// to is why a reload is refused; "" where it is not.
func (r *reloading) to(text string) string {
	r.t.Helper()
	r.write(text)
	next, err := newGeneration(r.g.outer, r.g.how)
	if err == nil {
		err = r.g.succeeds(next)
	}
	if err != nil {
		return err.Error()
	}
	next.close()
	return ""
}

// TestAReloadKeepsItsDocuments: what leads to another store or to other documents is refused by what it means, wherever
// it is written; nothing of a value is told. What means the same is taken.
func TestAReloadKeepsItsDocuments(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("sqlite:hidden-one.db"), 0o600); err != nil {
		t.Fatal(err)
	}
	const pollers = `
pollers:
  orders:
    source: {connection: SHOP_DB, table: orders, cursor: version}
    output: {kind: stdout}
`
	base := "state: {kind: sql, connection: STATE_DB}" + pollers +
		"env: {SHOP_DB: \"sqlite:shop.db\", STATE_DB: \"sqlite:hidden-a.db\", WEBSITE_SITE_NAME: shop}"
	files := "state: {kind: file, path: '%DIR%'}" + pollers +
		"env: {SHOP_DB: \"sqlite:shop.db\", DIR: " + dir + "/hidden-a}"
	named := "state: {kind: sql, connection: STATE_DB}" + pollers +
		"env: {SHOP_DB: \"sqlite:shop.db\", STATE_DB_FILE: " + secret + "}"
	for name, c := range map[string]struct{ was, old, new, want string }{
		"a connection's value": {base, "hidden-a", "hidden-b", "state__connection"},
		"the host's app name":  {base, "WEBSITE_SITE_NAME: shop", "WEBSITE_SITE_NAME: hidden", "state__app_name"},
		"a part of a value":    {files, "hidden-a", "hidden-b", "state__path"},
		"the app's name":       {files, "kind: file,", "kind: file, app_name: hidden,", "state__app_name"},
		"written otherwise":    {base, "kind: sql,", "kind: sql, app_name: shop, create: FALSE, container: db-state,", ""},
		"a poller":             {base, "cursor: version", "cursor: hidden", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReloading(t, c.was)
			said := r.to(strings.Replace(c.was, c.old, c.new, 1))
			if (said == "") != (c.want == "") || !strings.Contains(said, c.want) || strings.Contains(said, "hidden") {
				t.Errorf("the reload says %q, want %q", said, c.want)
			}
		})
	}
	t.Run("a connection in a file", func(t *testing.T) {
		r := newReloading(t, named)
		if err := os.WriteFile(secret, []byte("sqlite:hidden-two.db"), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := r.to(named); !strings.Contains(said, "state__connection") || strings.Contains(said, "hidden") {
			t.Errorf("the reload says %q", said)
		}
	})
}

// TestAPatternDoesNotWaitForAnother: a pattern that means no table any more, or of which the database does not answer,
// keeps its pollers, and the tables that another one means now have theirs.
func TestAPatternDoesNotWaitForAnother(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, connection string){
		"no table": func(t *testing.T, connection string) { runSQL(t, connection, `DROP TABLE items`) },
		"no answer": func(t *testing.T, connection string) {
			file := strings.TrimPrefix(connection, "sqlite:")
			if err := os.Rename(file, file+".away"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := newFile(t), newFile(t)
			runSQL(t, one, `CREATE TABLE orders (id INTEGER PRIMARY KEY)`)
			runSQL(t, two, `CREATE TABLE items (id INTEGER PRIMARY KEY)`)
			r := newReloading(t, `
state: {kind: file}
defaults: {source: {cursor: id}, output: {kind: stdout}}
pollers:
  one: {source: {connection: ONE_DB, tables: "*"}}
  two: {source: {connection: TWO_DB, tables: "*"}}
env: {ONE_DB: "`+one+`", TWO_DB: "`+two+`"}
`)
			lose(t, two)
			if r.g.again() != nil {
				t.Error("the tables are the same, and there is another generation")
			}
			runSQL(t, one, `CREATE TABLE people (id INTEGER PRIMARY KEY)`)
			next := r.g.again()
			if next == nil {
				t.Fatal("the new table of one pattern waits for another pattern's")
			}
			added, changed, gone := r.g.differences(next)
			if !slices.Equal(added, []string{"one_people"}) || len(changed)+len(gone) > 0 {
				t.Errorf("added %v, changed %v, gone %v", added, changed, gone)
			}
		})
	}
}

// TestATableOfAnothersName: a new table of one pattern does not take the name of another's poller, and is told of,
// once.
func TestATableOfAnothersName(t *testing.T) {
	db := newFile(t)
	runSQL(t, db, `CREATE TABLE a_x (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY)`)
	r := newReloading(t, `
state: {kind: file}
defaults: {source: {connection: SHOP_DB, cursor: id}, output: {kind: stdout}}
pollers:
  shop: {source: {tables: "a_*"}}
  shop_a: {source: {tables: b}}
env: {SHOP_DB: "`+db+`"}
`)
	runSQL(t, db, `CREATE TABLE a_b (id INTEGER PRIMARY KEY)`)
	said := func() string {
		r.errs.Reset()
		if r.g.again() != nil {
			t.Error("the pollers are the same, and there is another generation")
		}
		return r.errs.String()
	}
	if text := said(); !strings.Contains(text, "main.a_b (its poller would be shop_a_b") {
		t.Errorf("the table is left out, and the log says %q", text)
	}
	if text := said(); text != "" {
		t.Errorf("again the log says %q", text)
	}
	runSQL(t, db, `CREATE TABLE a_c (id INTEGER PRIMARY KEY)`)
	next := r.g.again()
	if next == nil {
		t.Fatal("a new table waits for the one that is left out")
	}
	added, changed, gone := r.g.differences(next)
	if !slices.Equal(added, []string{"shop_a_c"}) || len(changed)+len(gone) > 0 {
		t.Errorf("added %v, changed %v, gone %v", added, changed, gone)
	}
}
