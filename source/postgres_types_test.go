package source

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// openSource opens a source and a writer's pool on one database.
func openSource(t *testing.T, url, driver string, cfg plan.Config, ddl ...string) *Cursor {
	t.Helper()
	db, err := sql.Open(driver, strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range ddl {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return newSource(t, url, cfg)
}

// newSource makes a source of a database as it is.
func newSource(t *testing.T, url string, cfg plan.Config) *Cursor {
	t.Helper()
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return sourceOn(t, conn, cfg)
}

// sourceOn is newSource on a connection that the test has changed.
func sourceOn(t *testing.T, conn engine.Connection, cfg plan.Config) *Cursor {
	t.Helper()
	cfg.Poller = "values"
	src, err := New(cfg, conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

var everything = poller.Limit{Rows: 1000, Bytes: 64 << 20}

// postgresValues are literals and the JSON that they become.
var postgresValues = []struct{ typ, literal, want string }{
	{"boolean", "true", `true`}, {"boolean", "false", `false`}, {"boolean", "NULL", `null`},
	{"smallint", "-32768", `-32768`}, {"integer", "2147483647", `2147483647`},
	{"bigint", "9007199254740991", `9007199254740991`}, {"bigint", "9007199254740992", `"9007199254740992"`},
	{"bigint", "-9223372036854775808", `"-9223372036854775808"`},
	{"oid", "4294967295", `4294967295`}, {"xid8", "'18446744073709551615'", `"18446744073709551615"`}, {"xid", "'7'", `7`},
	{"cid", "'7'", `7`},
	{"numeric", "123456789012345678901234567890.1234567890", `"123456789012345678901234567890.1234567890"`},
	{"numeric(10,2)", "12.5", `"12.50"`}, {"numeric", "'NaN'", `"NaN"`}, {"numeric", "'-Infinity'", `"-Infinity"`},
	{"money", "'-1234567.89'", `"-1234567.89"`},
	{"real", "0.1", `0.1`}, {"double precision", "0.1", `0.1`}, {"double precision", "1e300", `1e+300`},
	{"double precision", "'NaN'", `"NaN"`},
	{"double precision", "'-Infinity'", `"-Infinity"`}, {"real", "16777217", `16777216`},
	{"double precision", "1e20", `100000000000000000000`},
	{"text", `E'a"\\\b\n\t\u0001é😀'`, `"a\"\\\u0008\n\t\u0001é😀"`}, {"varchar(5)", "'abc'", `"abc"`},
	{"char(5)", "'abc'", `"abc  "`},
	{"name", "'n'", `"n"`}, {`"char"`, "'c'", `"c"`}, {"text", "''", `""`},
	{"uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
	{"bytea", `'\x00ff'`, `"AP8="`}, {"bytea", `''`, `""`},
	{"date", "'2026-04-07'", `"2026-04-07"`}, {"date", "'infinity'", `"infinity"`},
	{"date", "'0044-03-15 BC'", `"0044-03-15 BC"`}, {"date", "'10000-01-01'", `"10000-01-01"`},
	{"time", "'01:23:45.120'", `"01:23:45.12"`}, {"time", "'24:00'", `"24:00:00"`},
	{"timetz", "'01:23:45.5+02'", `"01:23:45.5+02:00"`}, {"timetz", "'01:23:45-03:30'", `"01:23:45-03:30"`},
	{"timestamp", "'2026-04-07 01:23:45.123456'", `"2026-04-07T01:23:45.123456"`},
	{"timestamp", "'2026-04-07'", `"2026-04-07T00:00:00"`},
	{"timestamp", "'-infinity'", `"-infinity"`}, {"timestamp", "'0044-03-15 01:02:03 BC'", `"0044-03-15 01:02:03 BC"`},
	{"timestamptz", "'2026-04-07 03:23:45.120+02'", `"2026-04-07T01:23:45.12Z"`},
	{"timestamptz", "'infinity'", `"infinity"`},
	{"timestamptz", "'0044-03-15 01:02:03+00 BC'", `"0044-03-15 01:02:03+00 BC"`},
	{"interval", "'1 year 2 mons 3 days 04:05:06.7'", `"P1Y2M3DT4H5M6.7S"`},
	{"json", `'{"b": [1, " x ", "\" \\"],
		"a": 1e400, "a": 2}'`, `{"b":[1," x ","\" \\"],"a":1e400,"a":2}`},
	{"jsonb", `'{"b": 12345678901234567890, "a": null}'`, `{"a":null,"b":12345678901234567890}`},
	{"json", "'null'", `null`},
	{"inet", "'10.0.0.1/8'", `"10.0.0.1/8"`}, {"cidr", "'10.0.0.0/8'", `"10.0.0.0/8"`},
	{"macaddr", "'08:00:2b:01:02:03'", `"08:00:2b:01:02:03"`},
	{"macaddr8", "'08:00:2b:01:02:03:04:05'", `"08:00:2b:01:02:03:04:05"`}, {"bit(5)", "B'10101'", `"10101"`},
	{"varbit", "B'101'", `"101"`}, {"pg_lsn", "'16/B374D848'", `"16/B374D848"`},
	{"tsvector", "'fat cat:2'", `"'cat':2 'fat'"`}, {"tsquery", "'fat & cat'", `"'fat' & 'cat'"`},
	{"xml", "'<a b=\"1\"/>'", `"<a b=\"1\"/>"`},
	{"point", "'(1.1,2)'", `"(1.1,2)"`}, {"line", "'{1,2,3}'", `"{1,2,3}"`},
	{"lseg", "'[(1,2),(3,4)]'", `"[(1,2),(3,4)]"`}, {"box", "'(3,4),(1,2)'", `"(3,4),(1,2)"`},
	{"path", "'((1,2),(3,4))'", `"((1,2),(3,4))"`}, {"polygon", "'((1,2),(3,4))'", `"((1,2),(3,4))"`},
	{"circle", "'<(1,2),3>'", `"<(1,2),3>"`},
	{"tid", "'(1,2)'", `"(1,2)"`}, {"jsonpath", "'$.a'", `"$.\"a\""`}, {"refcursor", "'c'", `"c"`},
	{"int2vector", "'1 2'", `"1 2"`}, {"oidvector", "'1 2'", `"1 2"`},
	{"pg_snapshot", "'10:20:10,14'", `"10:20:10,14"`}, {"txid_snapshot", "'10:20:10,14'", `"10:20:10,14"`},
	{"regclass", "'pg_class'", `"pg_class"`}, {"regtype", "'int4'", `"integer"`},
	{"int4range", "'[1,5)'", `"[1,5)"`}, {"tstzrange", "'[2026-01-01 00:00+00,)'", `"[\"2026-01-01 00:00:00+00\",)"`},
	{"mood", "'so \"so\"'", `"so \"so\""`}, {"email", "'a@b'", `"a@b"`}, {"positive", "12", `12`},
}

func TestPostgresValues(t *testing.T) {
	t.Parallel()
	var columns, values []string
	want := `{"id":1,"v":1`
	for i, c := range postgresValues {
		columns = append(columns, fmt.Sprintf("c%d %s", i, c.typ))
		values = append(values, c.literal)
		want += fmt.Sprintf(`,"c%d":%s`, i, c.want)
	}
	want += "}"
	url := testenv.Postgres(t)
	src := openSource(t, url, "pgx", plan.Config{Table: "vals", Cursor: []string{"v"}},
		`CREATE TYPE mood AS ENUM ('sad', 'so "so"')`, "CREATE DOMAIN email AS text",
		"CREATE DOMAIN positive AS bigint CHECK (VALUE > 0)",
		"CREATE TABLE vals (id int PRIMARY KEY, v int NOT NULL, "+strings.Join(columns, ", ")+")",
		"INSERT INTO vals VALUES (1, 1, "+strings.Join(values, ", ")+")")
	page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
	if err != nil {
		t.Fatal(err)
	}
	got := string(page.Events[0].Row)
	if got != want {
		for i, c := range postgresValues {
			if !strings.Contains(got, fmt.Sprintf(`"c%d":%s`, i, c.want)) {
				_, rest, _ := strings.Cut(got, fmt.Sprintf(`"c%d":`, i))
				t.Errorf("%s %s: want %s, got %.60s", c.typ, c.literal, c.want, rest)
			}
		}
		t.Fatalf("the row differs:\n got %s\nwant %s", got, want)
	}
}

// TestPostgresRefused: each refused type names the column, the type and the CAST, and the CAST then works in a query.
func TestPostgresRefused(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	openSource(t, url, "pgx", plan.Config{Table: "none", Cursor: []string{"v"}}, "CREATE TYPE pair AS (a int, b text)")
	for i, c := range []struct{ typ, literal, want string }{
		{"int[]", "'{1,NULL,3}'", `[1,null,3]`}, {"text[][]", `'{{a,"b c"}}'`, `[["a","b c"]]`},
		{"pair", `'(1,"x y")'`, `{"a":1,"b":"x y"}`},
	} {
		table := fmt.Sprintf("refused%d", i)
		src := openSource(t, url, "pgx", plan.Config{Table: table, Cursor: []string{"v"}},
			"CREATE TABLE "+table+" (id int PRIMARY KEY, v int NOT NULL, odd "+c.typ+")",
			"INSERT INTO "+table+" VALUES (1, 1, "+c.literal+")")
		_, err := src.Describe(t.Context())
		if err == nil || !strings.Contains(err.Error(), `column "odd"`) || !strings.Contains(err.Error(), "source__columns") {
			t.Fatalf("%s: %v", c.typ, err)
		}
		_, mend, _ := strings.Cut(err.Error(), "select ")
		mend, _, _ = strings.Cut(mend, " in a source__query")
		src = openSource(t, url, "pgx",
			plan.Config{Query: "SELECT id, v, " + mend + " FROM " + table, Cursor: []string{"v"}, Key: []string{"id"}})
		page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(page.Events[0].Row), `{"id":1,"v":1,"odd":`+c.want+`}`; got != want {
			t.Errorf("%s: got %s, want %s", c.typ, got, want)
		}
	}
}

// TestPostgresKeys pages over keys of every type that may be one, one row at a time.
func TestPostgresKeys(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	openSource(t, url, "pgx", plan.Config{Table: "none", Cursor: []string{"v"}},
		`CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')`, "CREATE DOMAIN email AS varchar(20)")
	for i, c := range []struct {
		typ      string
		literals []string
	}{
		{"boolean", []string{"false", "true"}}, {"char(4)", []string{"'a'", "'ab'", "'b'"}},
		{"text", []string{"''", "'A'", "'a'", "'é'", `E'\\'`, "'\"'"}},
		{`"char"`, []string{"'a'", "'b'"}}, {"name", []string{"'a'", "'b'"}},
		{"uuid", []string{"'00000000-0000-0000-0000-000000000001'", "'f0000000-0000-0000-0000-000000000001'"}},
		{"bytea", []string{`'\x'`, `'\x00'`, `'\x00ff'`, `'\xff'`}}, {"mood", []string{"'sad'", "'ok'", "'happy'"}},
		{"email", []string{"'a'", "'b'"}},
		{"numeric", []string{"0.1", "0.10000000000000000001", "'NaN'"}},
		{"time", []string{"'01:02:03.000001'", "'01:02:03.000002'", "'24:00'"}},
		{"timetz", []string{"'01:02:03+01'", "'01:02:03+00'"}},
		{"timestamptz", []string{"'2026-01-01 00:00:00.000001+00'", "'2026-01-01 00:00:00.000002+00'"}},
		{"interval", []string{"'1 day'", "'1 day 00:00:00.000001'", "'1 mon -1 day'"}},
		{"inet", []string{"'10.0.0.1'", "'10.0.0.2'"}}, {"macaddr", []string{"'08:00:2b:01:02:03'"}},
		{"bit(3)", []string{"B'001'", "B'011'"}}, {"varbit", []string{"B'0'", "B'01'"}},
		{"int4range", []string{"'[1,2)'", "'[1,3)'"}}, {"date", []string{"'0044-03-15 BC'", "'2026-01-01'"}},
		{"oid", []string{"1", "4294967295"}}, {"pg_lsn", []string{"'0/1'", "'0/2'"}}, {"money", []string{"'1.01'", "'1.02'"}},
	} {
		table := fmt.Sprintf("keys%d", i)
		src := openSource(t, url, "pgx", plan.Config{Table: table, Cursor: []string{"v"}},
			"CREATE TABLE "+table+" (k "+c.typ+" PRIMARY KEY, v int NOT NULL)",
			"INSERT INTO "+table+" VALUES ("+strings.Join(c.literals, ", 7), (")+", 7)")
		var got []string
		var after []byte
		for {
			page, err := src.Fetch(t.Context(), change.Range{After: after}, poller.Limit{Rows: 1, Bytes: 1 << 20})
			if err != nil {
				t.Fatalf("%s: %v", c.typ, err)
			}
			if len(page.Events) == 0 {
				break
			}
			after = page.Events[0].Cursor
			got = append(got, string(page.Events[0].Key))
			if len(got) > len(c.literals) {
				break
			}
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != len(c.literals) {
			t.Errorf("%s: %d rows, read %s", c.typ, len(c.literals), got)
		}
	}
}
