package source

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// What check --ddl prints for PostgreSQL runs as it stands, and every write then moves the column.
func TestPostgresDDLRuns(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	schema, table := `"odd ""schema"`, `"odd ""schema"."Order Lines"`
	src := openSource(t, url, "pgx", plan.Config{Poller: "p", Table: table, Cursor: []string{"id"}},
		"CREATE SCHEMA "+schema, "CREATE TABLE "+table+` (id bigint PRIMARY KEY, n int NOT NULL)`,
		"INSERT INTO "+table+" VALUES (1, 1), (2, 1)")
	found, err := src.Check(t.Context(), nil, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := conn.DB(1)
	defer func() { _ = db.Close() }() // nothing is kept in it
	// One statement at a time: CONCURRENTLY runs in no transaction, and the driver sends several as one.
	body := strings.SplitAfter(found.DDL, ";\n")
	for i := 0; i < len(body); i++ {
		text := body[i]
		for strings.Count(text, "$$")%2 == 1 && i+1 < len(body) {
			i++
			text += body[i]
		}
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
	}
	read := func() (one, two string) {
		if err := db.QueryRowContext(t.Context(),
			"SELECT (SELECT rowrelay_xid::text FROM "+table+" WHERE id = 1), (SELECT rowrelay_xid::text FROM "+table+
				" WHERE id = 2)").
			Scan(&one, &two); err != nil {
			t.Fatal(err)
		}
		return one, two
	}
	one, two := read()
	if one != two {
		t.Errorf("rows that were there: %s and %s, want the transaction that added the column", one, two)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET n = 2, rowrelay_xid = '1' WHERE id = 2"); err != nil {
		t.Fatal(err)
	}
	if newOne, newTwo := read(); newOne != one || newTwo == two || newTwo == "1" {
		t.Errorf("after an update: %s and %s, from %s and %s", newOne, newTwo, one, two)
	}
}

func TestDDL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine, cursor string
		words          []string // none: no DDL
	}{
		{dsn.Postgres, "id", []string{"xid8 NOT NULL DEFAULT pg_current_xact_id()", "BEFORE INSERT OR UPDATE",
			`("rowrelay_xid", "id")`, "source__cursor=rowrelay_xid"}},
		{dsn.Postgres, "xid", nil},
		{dsn.SQLServer, "id", []string{"ADD [rowrelay_rv] rowversion", "([rowrelay_rv], [id])",
			"source__cursor=rowrelay_rv"}},
		{dsn.SQLServer, "rv", nil},
		{dsn.MySQL, "id", nil},
		{dsn.SQLite, "id", nil},
	} {
		d, err := engines.Find(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.New(d, &plan.Config{Table: "orders", Cursor: []string{c.cursor}, Key: []string{"id"},
			LateCommits: "auto"}, "h/d", lateTable(d))
		if err != nil {
			t.Fatal(err)
		}
		text := p.DDL()
		if (text == "") != (c.words == nil) {
			t.Errorf("%s, cursor %s: %q", c.engine, c.cursor, text)
		}
		for _, word := range c.words {
			if !strings.Contains(text, word) {
				t.Errorf("%s, cursor %s: %q does not stand in %s", c.engine, c.cursor, word, text)
			}
		}
	}
}
