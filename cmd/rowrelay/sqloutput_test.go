package main

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// copyOf are settings that copy orders of one database into a table of another.
func copyOf(from, to string, more ...string) []string {
	return with([]string{"DB=" + from, "COPY_DB=" + to, "state__kind=file", "state__create=true",
		"pollers__orders__source__connection=DB", "pollers__orders__source__table=orders",
		"pollers__orders__source__cursor=version", "pollers__orders__source__late_commits=none",
		"pollers__orders__output__kind=sql", "pollers__orders__output__connection=COPY_DB",
		"pollers__orders__output__table=copies"}, more...)
}

// shownRows are the rows of a table as text, one a line.
func shownRows(t *testing.T, connection, query string) string {
	t.Helper()
	c, err := engines.Parse(connection)
	if err != nil {
		t.Fatal(err)
	}
	db := c.WriteDB(1)
	defer db.Close() //nolint:errcheck // a test's
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			fmt.Fprintf(&text, "%s=%s ", columns[i], v.String)
		}
		text.WriteString("\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestCopyOfEveryType: a table of every type that has a form is copied on each engine without a difference, from the
// DDL that check proposes; updates arrive, and running again changes nothing.
func TestCopyOfEveryType(t *testing.T) {
	for name, c := range map[string]struct {
		url           string
		ddl, one, two string // the table's columns, and values of two rows
	}{
		"postgres": {testenv.Postgres(t), `a boolean, b smallint, c bigint, d numeric(20,5), e numeric, f real, g double precision,
			h text, i varchar(10), j char(4), k uuid, l bytea, m date, n time, o timestamp, p timestamptz, q json, r jsonb,
			s money`,
			`true, -3, 9007199254740993, 12345.67890, 0.1, 1.5, 1e300, 'it''s "ß" \', 'x', 'ab', gen_random_uuid(), '\x00ff',
			'2026-02-28', '23:59:59.123456', '2026-01-02 03:04:05.123456', '2026-01-02 03:04:05.123456+02', '{"a":[1,2.50]}',
			'{"b": null}', 12.34`,
			`NULL, NULL, NULL, NULL, NULL, NULL, 'NaN', '', '', '', NULL, '', '0001-01-01', NULL, NULL, NULL, NULL, NULL, NULL`},
		"mysql": {testenv.MySQL(t), `a boolean, b smallint unsigned, c bigint unsigned, d decimal(20,5), f float, g double, h text,
			i varchar(10), l blob, m date, n time(6), o datetime(6), p timestamp(3) NULL, q json, r bit(9), s year,
			t enum('x','y'), u binary(3)`,
			`1, 65535, 18446744073709551615, 12345.67890, 1.5, 1e300, 'it''s "ß" \\', 'x', x'00ff', '2026-02-28',
			'-123:59:59.123456', '2026-01-02 03:04:05.123456', '2026-01-02 03:04:05.123', '{"a":[1,2.5]}', b'101', 2026, 'y',
			x'000102'`,
			`NULL, NULL, NULL, NULL, NULL, NULL, '', '', x'', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`},
		"sqlite": {newFile(t), `a BOOLEAN, c INTEGER, d NUMERIC, g REAL, h TEXT, l BLOB, m DATE, o DATETIME, q JSON, r`,
			`1, 9007199254740993, 12.5, 1e300, 'it''s "ß"', x'00ff', '2026-02-28', '2026-01-02T03:04:05.123Z', '{"a":[1]}', 7`,
			`NULL, NULL, NULL, NULL, '', x'', NULL, NULL, NULL, 'seven'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			runSQL(t, c.url, `CREATE TABLE orders (id bigint PRIMARY KEY, version bigint, `+c.ddl+`)`,
				`INSERT INTO orders VALUES (1, 1, `+c.one+`)`, `INSERT INTO orders VALUES (2, 2, `+c.two+`)`)
			environ := copyOf(c.url, c.url)
			out, errs, err := sampled(t, environ, "check")
			_, ddl, proposed := strings.Cut(out, "A table of all columns would be:\n")
			ddl, _, _ = strings.Cut(ddl, ")\n  !")
			if err == nil || !proposed {
				t.Fatalf("check without the table: %v\n%s%s", err, out, errs)
			}
			runSQL(t, c.url, ddl+")")
			run := func() {
				t.Helper()
				if out, errs, err := sampled(t, environ, "run", "--once"); err != nil {
					t.Fatal(err, out, errs)
				}
				want := shownRows(t, c.url, "SELECT * FROM orders ORDER BY id")
				if got := shownRows(t, c.url, "SELECT * FROM copies ORDER BY id"); got != want {
					t.Errorf("copied\n%s of\n%s", got, want)
				}
			}
			run()
			if out, errs, err := sampled(t, environ, "check"); err != nil {
				t.Errorf("check with the tables: %v\n%s%s", err, out, errs)
			}
			runSQL(t, c.url, `UPDATE orders SET version = 3, h = 'changed' WHERE id = 1`)
			run()
			guard := shownRows(t, c.url, "SELECT scope, token, number FROM rowrelay_applied ORDER BY token, number")
			if strings.Count(guard, "scope=local/orders copies ") != 3 { // two keys, and the poller's own row
				t.Errorf("the guard: %s", guard)
			}
		})
	}
}

// TestCopyToAnotherEngine: rows of each engine in a table of each other: what they call differently is taken as what it
// means, and a delete deletes.
func TestCopyToAnotherEngine(t *testing.T) {
	urls := map[string]string{"postgres": testenv.Postgres(t), "mysql": testenv.MySQL(t), "sqlite": newFile(t)}
	for name, url := range urls {
		stamp := map[string]string{"postgres": "timestamptz", "mysql": "datetime(3)", "sqlite": "DATETIME"}[name]
		at := map[string]string{"postgres": "'2026-01-02 03:04:05.125Z'", "mysql": "'2026-01-02 03:04:05.125'",
			"sqlite": "'2026-01-02T03:04:05.125'"}[name]
		runSQL(t, url, `CREATE TABLE orders (id int PRIMARY KEY, version bigint, paid boolean, amount decimal(10,2), at `+stamp+
			`, note varchar(40), gone boolean)`,
			`INSERT INTO orders VALUES (1, 1, true, 12.25, `+at+`, 'ß', false), (2, 2, false, -0.01, NULL, NULL, false)`)
		for from := range urls {
			runSQL(t, url, `CREATE TABLE copies_of_`+from+` (id bigint PRIMARY KEY, version bigint, paid boolean, amount decimal(10,2), at `+
				stamp+`, note varchar(40))`)
		}
	}
	for from, source := range urls {
		for to, destination := range urls {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Chdir(t.TempDir())
				environ := copyOf(source, destination, "pollers__orders__output__table=copies_of_"+from,
					"pollers__orders__source__delete_when=gone", "pollers__orders__output__columns=*, -gone")
				runSQL(t, source, `UPDATE orders SET gone = false, version = id`)
				if out, errs, err := sampled(t, environ, "run", "--once"); err != nil {
					t.Fatal(err, out, errs)
				}
				const query = "SELECT id, version, CASE WHEN paid THEN 'yes' ELSE 'no' END AS paid, amount, note FROM "
				want := shownRows(t, source, query+"orders ORDER BY id")
				if got := shownRows(t, destination, query+"copies_of_"+from+" ORDER BY id"); got != want {
					t.Errorf("copied\n%s of\n%s", got, want)
				}
				at := shownRows(t, destination, "SELECT at FROM copies_of_"+from+" WHERE id = 1")
				if !strings.Contains(strings.Replace(at, " ", "T", 1), "2026-01-02T03:04:05.125") {
					t.Errorf("the time is %s", at)
				}
				runSQL(t, source, `UPDATE orders SET gone = true, version = 9 WHERE id = 2`)
				if out, errs, err := sampled(t, environ, "run", "--once"); err != nil {
					t.Fatal(err, out, errs)
				}
				if got := shownRows(t, destination, "SELECT id FROM copies_of_"+from); got != "id=1 \n" {
					t.Errorf("after the delete: %s", got)
				}
			})
		}
	}
}
