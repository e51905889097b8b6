package source

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// The tests of this file hold rows against each other that a statement after the one does not give, although the other
// was not delivered: every row is delivered, or the fetch fails; none is lost without a word.

// drain reads page after page to the end, or to the first error, and returns the keys.
func drain(t *testing.T, src *Cursor, rows int) (keys []string, err error) {
	t.Helper()
	var at change.Cursor
	for range 100 {
		page, err := src.Fetch(t.Context(), change.Range{After: at}, poller.Limit{Rows: rows, Bytes: 1 << 20})
		if err != nil {
			return keys, err
		}
		if len(page.Events) == 0 {
			return keys, nil
		}
		for _, e := range page.Events {
			keys = append(keys, string(e.Key))
		}
		at = page.Events[len(page.Events)-1].Cursor
	}
	t.Fatal("a hundred pages, and no end")
	return nil, nil
}

// isNormalizeFault checks that a fetch failed because of a row, and in which words.
func isNormalizeFault(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, poller.ErrNormalize) {
		t.Errorf("not ErrNormalize: %v", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
}

// TestSQLiteUntypedKey: a key without a declared type keeps its storage class in the position, also beyond 2^53, where
// its JSON is a string; text that has the form of such an integer is refused as a key, and only as a key.
func TestSQLiteUntypedKey(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL, any)"
	const big = "INSERT INTO o (id, v) VALUES (-9007199254740993,1),(9007199254740993,1),(9007199254740994,1),(9007199254740995,1),(9223372036854775807,1)"
	want := []string{`{"id":"-9007199254740993"}`, `{"id":"9007199254740993"}`, `{"id":"9007199254740994"}`,
		`{"id":"9007199254740995"}`, `{"id":"9223372036854775807"}`}
	for _, query := range []string{"SELECT id+0 AS id, v FROM o", "SELECT max(id) AS id, v FROM o GROUP BY id, v"} {
		src := openSource(t, testenv.SQLite(t), "sqlite",
			plan.Config{Query: query, Key: []string{"id"}, Cursor: []string{"v"}}, table, big)
		for _, rows := range []int{1, 2} {
			keys, err := drain(t, src, rows)
			if diff := cmp.Diff(want, keys); err != nil || diff != "" {
				t.Errorf("%s, pages of %d: %v\n%s", query, rows, err, diff)
			}
		}
	}

	src := openSource(t, testenv.SQLite(t), "sqlite",
		plan.Config{Query: "SELECT id||'' AS id, v, any FROM o", Key: []string{"id"}, Cursor: []string{"v"}}, table,
		"INSERT INTO o VALUES (12, 1, '9007199254740993'), (13, 2, 9007199254740993), (9007199254740993, 3, 1)")
	keys, err := drain(t, src, 2)
	if diff := cmp.Diff([]string{`{"id":"12"}`, `{"id":"13"}`}, keys); diff != "" {
		t.Error(diff)
	}
	isNormalizeFault(t, err, `"id"`, "9007199254740993", "CAST")
}

// sessionOf is the session that the source uses next.
func sessionOf(t *testing.T, src *Cursor) (s *pool.Session) {
	t.Helper()
	if err := src.sessions.Run(t.Context(), func(_ context.Context, its *pool.Session) error {
		s = its
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNullsHold: rows that paging cannot show fail every fetch, of every output, until they are gone.
func TestNullsHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg        plan.Config
		ddl, mend  string
		after      change.Cursor
		word, rest string
	}{
		"cursor": {plan.Config{Table: "o", Cursor: []string{"v"}, NullCursor: "fail"},
			"CREATE TABLE o (k INTEGER PRIMARY KEY, v int)",
			"UPDATE o SET v = 4 WHERE v IS NULL", nil, "NULL cursor", "INSERT INTO o VALUES (1, 1), (2, NULL), (3, 1)"},
		"key": {plan.Config{Query: "SELECT k, v FROM o", Key: []string{"k"}, Cursor: []string{"v"}},
			"CREATE TABLE o (k TEXT, v int)",
			"UPDATE o SET k = 'c' WHERE k IS NULL", change.Cursor(`{"kind":"integer+pk","value":1,"tiebreaker":{"k":"a"}}`),
			"NULL key",
			"INSERT INTO o VALUES ('a', 1), (NULL, 1), ('b', 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			url := testenv.SQLite(t)
			src := openSource(t, url, "sqlite", c.cfg, c.ddl, c.rest)
			kept := sessionOf(t, src)
			for range 3 {
				_, err := src.Fetch(t.Context(), change.Range{After: c.after}, everything)
				isNormalizeFault(t, err, c.word)
			}
			if sessionOf(t, src) != kept {
				t.Error("the connection was given up: the rows' fault is not its own")
			}
			openSource(t, url, "sqlite", c.cfg, c.mend)
			if _, err := src.Fetch(t.Context(), change.Range{After: c.after}, everything); err != nil {
				t.Errorf("mended, and still %v", err)
			}
		})
	}
}

// TestEqualKeys: keys that the database's collation holds equal are not divided by a page's end, which would pass over
// the second.
func TestEqualKeys(t *testing.T) {
	t.Parallel()
	mysqlURL, postgresURL := testenv.MySQL(t), testenv.Postgres(t)
	w := testenv.Open(t, "mysql", testenv.MySQLDSN(t, mysqlURL))
	cfg := plan.Config{Table: "w", Key: []string{"k"}, Cursor: []string{"v"}}
	const rows = "INSERT INTO o VALUES ('b',1.0),('cafe',2.00),('café',2.00),('x',3),('y',3)"
	testenv.Exec(t, w,
		"CREATE TABLE o (k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, v decimal(5,2) NOT NULL)",
		"CREATE VIEW w AS SELECT CONVERT(k USING utf8mb4) COLLATE utf8mb4_general_ci AS k, v FROM o", rows)
	for name, src := range map[string]*Cursor{
		"mysql": newSource(t, mysqlURL, cfg),
		"postgres": openSource(t, postgresURL, "pgx", cfg,
			"CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
			"CREATE TABLE o (k text PRIMARY KEY, v numeric NOT NULL)", "CREATE VIEW w AS SELECT k COLLATE ci AS k, v FROM o",
			rows,
			"UPDATE o SET v = 2.0 WHERE k = 'café'"), // 2.00 and 2.0 are one cursor, written differently
		"sqlite": openSource(t, testenv.SQLite(t), "sqlite", cfg, "CREATE TABLE o (k TEXT PRIMARY KEY, v numeric NOT NULL)",
			"CREATE VIEW w AS SELECT replace(k, 'é', 'E') COLLATE NOCASE AS k, v FROM o", rows),
	} {
		t.Run(name, func(t *testing.T) {
			if keys, err := drain(t, src, 2); len(keys) != 5 || err != nil {
				t.Errorf("pages of two: %s, %v", keys, err)
			}
			keys, err := drain(t, src, 1)
			if len(keys) != 1 {
				t.Errorf("pages of one: %s", keys)
			}
			isNormalizeFault(t, err, "batch_size", "source__key")
		})
	}
}

// TestEqualKeysBeforeFault: a page that a row without a place ends is not divided there either.
func TestEqualKeysBeforeFault(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE TABLE o (k TEXT, v int NOT NULL, x)"
	cfg := plan.Config{Query: "SELECT k, v, x FROM o", Key: []string{"k"}, Cursor: []string{"v"}}
	for name, c := range map[string]struct{ rows, word string }{
		"bad row":   {"INSERT INTO o VALUES ('a', 1, 1), ('b', 2, 1), (x'63', 2, 1)", "a BLOB"},
		"same keys": {"INSERT INTO o VALUES ('a', 1, 1), ('b', 2, 1), ('c', 2, 1), ('c', 2, 2)", "does not identify a row"},
	} {
		src := openSource(t, testenv.SQLite(t), "sqlite", cfg, ddl, c.rows)
		keys, err := drain(t, src, 10)
		if diff := cmp.Diff([]string{`{"k":"a"}`}, keys); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		isNormalizeFault(t, err, c.word)
	}
}

// TestEqualKeysAsk: a statement that asked for few rows, because the last page was full of bytes, does not make a tie
// look larger than the page for ever.
func TestEqualKeysAsk(t *testing.T) {
	t.Parallel()
	src := openSource(t, testenv.SQLite(t), "sqlite",
		plan.Config{Query: "SELECT k, v FROM o", Key: []string{"k"}, Cursor: []string{"v"}},
		"CREATE TABLE o (k TEXT COLLATE NOCASE, v int NOT NULL)", "INSERT INTO o VALUES ('a', 1), ('A', 1), ('c', 1)")
	src.rows = 1
	if keys, err := drain(t, src, 10); len(keys) != 3 || err != nil {
		t.Errorf("%s: %v", keys, err)
	}
}

// TestStartLatestBeyond: what cannot be a position is none of source__start=latest either.
func TestStartLatestBeyond(t *testing.T) {
	t.Parallel()
	src := openSource(t, testenv.Postgres(t), "pgx", plan.Config{Table: "o", Cursor: []string{"v"}, Start: "latest"},
		"CREATE TABLE o (id bigint PRIMARY KEY, v timestamptz NOT NULL)",
		"INSERT INTO o VALUES (1,'2026-01-01'),(2,'infinity')")
	_, _, err := src.Start(t.Context())
	isNormalizeFault(t, err, "infinity", "source__where", `{"id":2}`)

	src = openSource(t, testenv.Postgres(t), "pgx",
		plan.Config{Query: "SELECT * FROM o", Key: []string{"id"}, Cursor: []string{"v"}, Start: "latest"},
		"CREATE TABLE o (id bigint, v int NOT NULL)", "INSERT INTO o VALUES (NULL, 1)")
	_, _, err = src.Start(t.Context())
	isNormalizeFault(t, err, "NULL", "source__key")
}

// TestSQLiteTimes: what is stored as a time and is none is no position, and a column's times are all text or all
// numbers: SQLite sorts every number below every text.
func TestSQLiteTimes(t *testing.T) {
	t.Parallel()
	text := change.Cursor(`{"kind":"timestamp+pk","value":"2026-01-01 00:00:00","tiebreaker":{"id":1}}`)
	number := change.Cursor(`{"kind":"timestamp+pk","value":1767225600,"tiebreaker":{"id":1}}`)
	for name, c := range map[string]struct {
		typ, rows string
		after     change.Cursor
		good      int // rows before the fault
		words     []string
	}{
		"no time": {"DATETIME", "(1, '2026-01-01'), (2, 'n/a')", nil, 1,
			[]string{"n/a", `{"id":2}`, "correct the row"}},
		"no date": {"DATE", "(1, '01.02.2026')", nil, 0, []string{"01.02.2026", `{"id":1}`}},
		"text behind": {"DATETIME", "(1, 1767225600), (2, '2026-01-01 00:00:00')", nil, 1,
			[]string{`{"id":2}`, "text", "number"}},
		"text, later": {"TIMESTAMP", "(1, 1767225600), (2, '2026-01-01 00:00:00')", number, 0,
			[]string{`{"id":2}`, "text", "number"}},
		"number, later": {"DATETIME", "(1, '2026-01-01 00:00:00'), (2, 1767225600)", text, 0,
			[]string{`{"id":2}`, "text", "number"}},
	} {
		t.Run(name, func(t *testing.T) {
			src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}},
				"CREATE TABLE o (id INTEGER PRIMARY KEY, v "+c.typ+" NOT NULL)", "INSERT INTO o VALUES "+c.rows)
			at := c.after
			if c.good > 0 {
				page, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
				if err != nil || len(page.Events) != c.good || !page.More {
					t.Fatalf("%d rows, more %t: %v", len(page.Events), page.More, err)
				}
				at = page.Events[c.good-1].Cursor
			}
			for range 2 {
				_, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
				isNormalizeFault(t, err, c.words...)
			}
		})
	}
	// The forms that SQLite's own functions and its Go drivers write in UTC are times, and sort as these; so do forms
	// whose days lie apart.
	src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v DATETIME NOT NULL)",
		"INSERT INTO o VALUES (1, '2026-01-01'), (2, '2026-01-04 03:04'), (3, '2026-01-04 03:04:05.678+00:00'), (4, '2026-01-04 03:04:06 +0000 UTC'), (5, '2026-01-08 03:04:07Z')")
	if keys, err := drain(t, src, 2); len(keys) != 5 || err != nil {
		t.Errorf("%s: %v", keys, err)
	}
}

// TestSQLiteDeleteWhen: a computed column has no type in SQLite; what the message advises works.
func TestSQLiteDeleteWhen(t *testing.T) {
	t.Parallel()
	both := func(src *Cursor) {
		t.Helper()
		page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
		if err != nil || len(page.Events) != 2 || page.Events[0].Op != change.Delete || page.Events[1].Op != change.Upsert {
			t.Errorf("%v: %v", page.Events, err)
		}
	}
	url := testenv.SQLite(t)
	cfg := plan.Config{Query: "SELECT id, v, state = 'gone' AS gone FROM o", Key: []string{"id"}, Cursor: []string{"v"},
		DeleteWhen: "gone"}
	src := openSource(t, url, "sqlite", cfg, "CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL, state TEXT)",
		"INSERT INTO o VALUES (1, 1, 'gone'), (2, 2, 'here')")
	_, err := src.Describe(t.Context())
	if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "generated column") ||
		strings.Contains(err.Error(), "CASE") {
		t.Error(err)
	}
	cfg.Query = "SELECT id, v, gone FROM o"
	src = openSource(t, url, "sqlite", cfg, "ALTER TABLE o ADD COLUMN gone BOOLEAN AS (state = 'gone')")
	both(src)

	// The same for upserts and deletes in one query (docs/deletes.md).
	cfg.Query = "SELECT id, v, there AS gone FROM o WHERE id = 2 UNION ALL SELECT id, v, gone FROM o_deleted"
	both(openSource(t, url, "sqlite", cfg, "ALTER TABLE o ADD COLUMN there BOOLEAN AS (0)",
		"CREATE TABLE o_deleted (id INTEGER PRIMARY KEY, v int NOT NULL)",
		"ALTER TABLE o_deleted ADD COLUMN gone BOOLEAN AS (1)", "INSERT INTO o_deleted VALUES (1, 1)"))
}
