package sqltable_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/sqltable"
	"github.com/rowrelay/rowrelay/poller"
)

// into opens an output into the table copies, which ddl makes.
func into(t *testing.T, engine string, ddl ...string) (*sqltable.Output, *sql.DB) {
	t.Helper()
	c, err := engines.Parse(databases[engine](t))
	if err != nil {
		t.Fatal(err)
	}
	o, err := sqltable.New(sqltable.Config{Connection: c, Table: "copies", Sender: "shop/orders", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	db := c.WriteDB(1)
	t.Cleanup(func() { _, _ = o.Close(), db.Close() })
	testenv.Exec(t, db, ddl...)
	return o, db
}

// rowOf is a request of one row: its key, and the row's other members.
func rowOf(number uint64, key, others string) change.Delivery {
	d := request(1, number, "1=a")
	e := &d.Events[0]
	e.ID = fmt.Sprint("event ", number)
	e.Key = fmt.Appendf(nil, `{"id":%s}`, key)
	e.OrderKey, e.Row = e.Key, fmt.Appendf(nil, `{"id":%s%s}`, key, others)
	return d
}

func causeOf(err error) string {
	var failure *poller.DeliveryError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &failure):
		return failure.Failed[0].Cause.String()
	}
	return err.Error()
}

// first is the first column of a query's rows, joined.
func first(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close() //nolint:errcheck // nothing was written
	var all []string
	for found.Next() {
		var text string
		if err := found.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " | ")
}

// TestKeysAreNotMerged: a collation that holds different texts equal takes keys that it tells apart, and no others.
func TestKeysAreNotMerged(t *testing.T) {
	t.Parallel()
	const uuid = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
	for name, c := range map[string]struct {
		engine string
		ddl    []string
		taken  []string
		lack   []string // taken after mend
		want   string
		mend   string // "" where the message says no statement
	}{
		"mysql default": {"mysql", []string{"CREATE TABLE copies (id varchar(40) PRIMARY KEY) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"},
			[]string{"a", "42", "ord-1_b.c:/", uuid}, []string{"A", "a ", "é"}, "has the collation utf8mb4_general_ci",
			"ALTER TABLE `copies` MODIFY `id` varchar(40) CHARACTER SET utf8mb4 /*!80017 COLLATE utf8mb4_0900_bin */ " +
				"/*M!100202 COLLATE utf8mb4_nopad_bin */ NOT NULL"},
		"mysql blanks": {"mysql", []string{"CREATE TABLE copies (id varchar(40) PRIMARY KEY) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"},
			[]string{"a"}, []string{"a "}, "has the collation utf8mb4_bin", ""},
		"mysql language": {"mysql", []string{"CREATE TABLE copies (id varchar(40) PRIMARY KEY) CHARACTER SET utf8mb4 COLLATE utf8mb4_roman_ci"},
			[]string{"7", uuid}, []string{"i", "j"}, "has the collation utf8mb4_roman_ci", ""},
		"mysql exact": {"mysql", []string{"CREATE TABLE copies (id varchar(40) CHARACTER SET utf8mb4 COLLATE " + exactly + " PRIMARY KEY)"},
			[]string{"a", "A", "a ", "é", "e"}, nil, "", ""},
		"sqlite": {"sqlite", []string{"CREATE TABLE copies (id TEXT COLLATE NOCASE PRIMARY KEY)"},
			[]string{"a", uuid}, []string{"A"}, "has the collation NOCASE", ""},
		"sqlite blanks": {"sqlite", []string{"CREATE TABLE copies (id TEXT COLLATE RTRIM PRIMARY KEY) WITHOUT ROWID"},
			[]string{"a"}, []string{"a "}, "has the collation RTRIM", ""},
		"sqlite index": {"sqlite", []string{"CREATE TABLE copies (id TEXT NOT NULL, UNIQUE (id COLLATE NOCASE))"},
			[]string{"a"}, []string{"A"}, "has the collation NOCASE", ""},
		"sqlite index that tells apart": {"sqlite",
			[]string{"CREATE TABLE copies (id TEXT COLLATE NOCASE NOT NULL, UNIQUE (id COLLATE BINARY))"},
			nil, []string{"a"}, "needs a primary key or a unique index", ""},
		"sqlite exact": {"sqlite", []string{"CREATE TABLE copies (id TEXT PRIMARY KEY)"},
			[]string{"a", "A", "a "}, nil, "", ""},
		"sqlserver": {"sqlserver",
			[]string{"CREATE TABLE copies (id varchar(40) COLLATE Latin1_General_CI_AS NOT NULL PRIMARY KEY)"},
			[]string{"a", "42", "ord-1_b.c:/", uuid}, []string{"A", "é"}, "has the collation", ""},
		"sqlserver language": {"sqlserver",
			[]string{"CREATE TABLE copies (id nvarchar(40) COLLATE Japanese_CI_AS NOT NULL PRIMARY KEY)"},
			[]string{"7", uuid}, []string{"i"}, "has the collation", ""},
		"sqlserver exact": {"sqlserver",
			[]string{"CREATE TABLE copies (id nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY)"},
			[]string{"a", "A", "é", "e"}, nil, "", ""},
		"postgres": {"postgres", []string{
			"CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
			"CREATE TABLE copies (id text COLLATE nocase PRIMARY KEY)"},
			[]string{"42", uuid}, []string{"A", "a"}, "has the collation public.nocase",
			`ALTER TABLE "copies" ALTER COLUMN "id" TYPE text COLLATE "C"`},
		"postgres index": {"postgres", []string{
			"CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
			"CREATE TABLE copies (id text PRIMARY KEY)", "CREATE UNIQUE INDEX folded ON copies (id COLLATE nocase)"},
			[]string{"42", uuid}, []string{"A", "a"}, "has the collation public.nocase", ""},
		"postgres inherited": {"postgres",
			[]string{"CREATE TABLE copies (id text PRIMARY KEY)", "CREATE TABLE older () INHERITS (copies)"},
			nil, []string{"a"}, "older inherits from it", `ALTER TABLE older NO INHERIT "public"."copies"`},
		"postgres exact": {"postgres", []string{"CREATE TABLE copies (id text PRIMARY KEY)"},
			[]string{"a", "A", "a "}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, db := into(t, c.engine, c.ddl...)
			number := uint64(0)
			deliver := func(key string) error {
				number++
				return o.Deliver(t.Context(), rowOf(number, fmt.Sprintf("%q", key), ""))
			}
			for _, key := range c.taken {
				if err := deliver(key); err != nil {
					t.Errorf("%q: %v", key, err)
				}
			}
			for _, key := range c.lack {
				err := deliver(key)
				if causeOf(err) != "unavailable" || !errors.Is(err, change.ErrConfig) || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), c.mend) {
					t.Errorf("%q: %v, want %s, %s", key, err, c.want, c.mend)
				}
			}
			if len(c.lack) > 0 && len(c.taken) > 0 {
				if err := deliver(c.taken[0]); causeOf(err) != "unavailable" || !strings.Contains(err.Error(), c.want) {
					t.Errorf("another key while one waits for the mend: %v", err)
				}
			}
			all := len(c.taken)
			if c.mend != "" {
				testenv.Exec(t, db, c.mend)
				for _, key := range c.lack {
					if err := deliver(key); err != nil {
						t.Errorf("%q after the mend: %v", key, err)
					}
					all++
				}
			}
			if got := first(t, db, "SELECT count(*) FROM copies"); got != fmt.Sprint(all) {
				t.Errorf("%s rows, want %d", got, all)
			}
		})
	}
}

// What MySQL and MariaDB have under names of their own: a collation that compares exactly, and an index that the
// optimiser passes over.
const (
	exactly = "/*!80017 utf8mb4_0900_bin */ /*M!100202 utf8mb4_nopad_bin */"
	hidden  = "/*!80000 INVISIBLE */ /*M!100600 IGNORED */"
)

// TestUpsertsGoByOneKey: MariaDB's upsert takes a row that is equal in any unique index for the row itself: also where
// the index holds the beginnings of texts, reads downwards, is ignored by the optimiser, or holds hashes.
func TestUpsertsGoByOneKey(t *testing.T) {
	t.Parallel()
	mariaDB := testenv.IsMariaDB(t, testenv.Open(t, "mysql", testenv.MySQLDSN(t, testenv.MySQL(t))))
	hashes := func(t *testing.T, name string) {
		t.Helper()
		if !mariaDB && strings.Contains(name, "hashes") {
			t.Skip("MySQL has no unique index of hashes")
		}
	}
	for name, ddl := range map[string]string{
		"key of a beginning": "CREATE TABLE copies (id varchar(40) COLLATE " + exactly + ", m text, PRIMARY KEY (id(3)))",
		"plain":              "CREATE TABLE copies (id bigint PRIMARY KEY, m varchar(9), UNIQUE u (m))",
		"of a beginning":     "CREATE TABLE copies (id bigint PRIMARY KEY, m varchar(9), UNIQUE u (m(1)))",
		"downwards":          "CREATE TABLE copies (id bigint PRIMARY KEY, m varchar(9), UNIQUE u (m DESC))",
		"ignored":            "CREATE TABLE copies (id bigint PRIMARY KEY, m varchar(9), UNIQUE u (m) " + hidden + ")",
		"of hashes":          "CREATE TABLE copies (id bigint PRIMARY KEY, m text, UNIQUE u (m))",
		"beside its key's": "CREATE TABLE copies (id varchar(40) COLLATE " + exactly +
			" PRIMARY KEY, m text, UNIQUE u (id(3)))",
		"no primary key": "CREATE TABLE copies (id bigint NOT NULL UNIQUE, m varchar(9), UNIQUE u (m(1)))",
	} {
		t.Run(name, func(t *testing.T) {
			hashes(t, name)
			o, db := into(t, "mysql", ddl)
			for i, key := range []string{`"1111"`, `"1112"`} {
				err := o.Deliver(t.Context(), rowOf(uint64(i+1), key, `,"m":"x"`)) //nolint:gosec // small
				if causeOf(err) != "unavailable" || !errors.Is(err, change.ErrConfig) {
					t.Errorf("%s: %v", key, err)
				}
			}
			if got := first(t, db, "SELECT id FROM copies"); got != "" {
				t.Errorf("rows: %s", got)
			}
		})
	}
	for name, ddl := range map[string]string{
		"key downwards":   "CREATE TABLE copies (id bigint, m text, PRIMARY KEY (id DESC))",
		"twice its key":   "CREATE TABLE copies (id bigint PRIMARY KEY, m text, UNIQUE u (id) " + hidden + ")",
		"hashes of a key": "CREATE TABLE copies (id text COLLATE " + exactly + " NOT NULL, m text, UNIQUE u (id))",
		"not unique":      "CREATE TABLE copies (id bigint PRIMARY KEY, m text, KEY u (m(1)))",
	} {
		t.Run(name, func(t *testing.T) {
			hashes(t, name)
			o, db := into(t, "mysql", ddl)
			for i, key := range []string{`"1111"`, `"1112"`} {
				if err := o.Deliver(t.Context(), rowOf(uint64(i+1), key, `,"m":"x"`)); err != nil { //nolint:gosec // small
					t.Errorf("%s: %v", key, err)
				}
			}
			if got := first(t, db, "SELECT id FROM copies ORDER BY id"); got != "1111 | 1112" {
				t.Errorf("rows: %s", got)
			}
		})
	}
}

// TestBlanksOfFixedColumns: a column of fixed length keeps no blanks at the end of a key.
func TestBlanksOfFixedColumns(t *testing.T) {
	t.Parallel()
	for name, ddl := range map[string]string{
		"postgres": "CREATE TABLE copies (id char(5) PRIMARY KEY)",
		"mysql":    "CREATE TABLE copies (id char(5) CHARACTER SET utf8mb4 COLLATE " + exactly + " PRIMARY KEY)",
		// It compares no text with the blanks at its end.
		"sqlserver": "CREATE TABLE copies (id nvarchar(5) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY)",
	} {
		t.Run(name, func(t *testing.T) {
			o, db := into(t, name, ddl)
			if err := o.Deliver(t.Context(), rowOf(1, `"A"`, "")); err != nil {
				t.Error(err)
			}
			if err := o.Deliver(t.Context(), rowOf(2, `"A "`, "")); causeOf(err) != "refused" {
				t.Error(err)
			}
			if got := first(t, db, "SELECT count(*) FROM copies"); got != "1" {
				t.Errorf("%s rows", got)
			}
		})
	}
}

// TestKeysAreNotCut: of two keys that a column would make one of, none is written.
func TestKeysAreNotCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine, typ    string
		taken, refused string // keys
	}{
		{"postgres", "timestamptz(0)", `"2026-01-01T00:00:01.000Z"`, `"2026-01-01T00:00:01.5Z"`},
		{"postgres", "timestamp", `"2026-01-01T00:00:00.1234560"`, `"2026-01-01T00:00:00.1234561"`},
		{"postgres", "time(3)", `"01:00:00.123"`, `"01:00:00.1234"`},
		{"postgres", "text", `"2026-01-01T00:00:00.1234561"`, ""},
		{"mysql", "datetime", `"2026-01-01T00:00:01Z"`, `"2026-01-01T00:00:01.5Z"`},
		{"mysql", "timestamp(3)", `"2026-01-01T00:00:01.123Z"`, `"2026-01-01T00:00:01.1234Z"`},
		{"mysql", "time", `"01:00:00"`, `"01:00:00.5"`},
		{"mysql", "binary(3)", `"YWJj"`, `"YWI="`},
		{"mysql", "varbinary(3)", `"YWI="`, ""},
		{"sqlserver", "datetimeoffset(0)", `"2026-01-01T00:00:01Z"`, `"2026-01-01T00:00:01.5Z"`},
		{"sqlserver", "datetime", `"2026-01-01T00:00:01.003"`, `"2026-01-01T00:00:01.004"`},
		{"sqlserver", "smalldatetime", `"2026-01-01T00:01:00Z"`, `"2026-01-01T00:01:01Z"`},
		{"sqlserver", "datetime2(3)", `"2026-01-01T00:00:01.123"`, `"2026-01-01T00:00:01.1234"`},
		{"sqlserver", "time(0)", `"01:00:00"`, `"01:00:00.5"`},
		{"sqlserver", "binary(3)", `"YWJj"`, `"YWI="`},
		{"sqlserver", "varbinary(3)", `"YWI="`, ""},
		{"sqlite", "datetime", `"2026-01-01T00:00:00.1234561"`, ""},
		{"sqlite", "binary(3)", `"YWI="`, ""},
	} {
		t.Run(c.engine+" "+c.typ, func(t *testing.T) {
			o, db := into(t, c.engine, "CREATE TABLE copies (id "+c.typ+" NOT NULL PRIMARY KEY)")
			if err := o.Deliver(t.Context(), rowOf(1, c.taken, "")); err != nil {
				t.Errorf("%s: %v", c.taken, err)
			}
			if c.refused == "" {
				return
			}
			if err := o.Deliver(t.Context(), rowOf(2, c.refused, "")); causeOf(err) != "refused" {
				t.Errorf("%s: %v", c.refused, err)
			}
			if got := first(t, db, "SELECT count(*) FROM copies"); got != "1" {
				t.Errorf("%s rows", got)
			}
		})
	}
}

// TestProposedKeysAreNotMerged: the table that check prints takes every key.
func TestProposedKeysAreNotMerged(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{"mysql": {`"a"`, `"A"`, `"a "`}, "sqlserver": {`"a"`, `"A"`, `"é"`}} {
		t.Run(name, func(t *testing.T) {
			o, db := into(t, name)
			key := []engine.Column{{Name: "id", Type: "text", Value: engine.Value{Kind: engine.KindText}}}
			err := o.Ready(t.Context(), "postgres", key, key)
			_, ddl, found := strings.Cut(fmt.Sprint(err), "A table of all columns would be:\n")
			if !found {
				t.Fatal(err)
			}
			testenv.Exec(t, db, ddl)
			for i, key := range keys {
				if err := o.Deliver(t.Context(), rowOf(uint64(i+1), key, "")); err != nil { //nolint:gosec // small
					t.Error(err)
				}
			}
			if got := first(t, db, "SELECT count(*) FROM copies"); got != "3" {
				t.Errorf("%s rows", got)
			}
		})
	}
}
