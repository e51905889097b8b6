package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// TestTypedTimesOnSQLite: a time that a person gives is that of the column's rows, however either is spelled: after it
// come the rows after that moment, before it those of that moment too.
func TestTypedTimesOnSQLite(t *testing.T) {
	t.Parallel()
	typed := []string{"2026-04-07T02:00:00", "2026-04-07 02:00", "2026-04-07T02:00:00.000Z", "2026-04-07T02:00:00Z",
		"2026-04-07 04:00:00+02:00"}
	for form, column := range map[string]string{
		"2026-04-07 %02d:00:00": "DATETIME", "2026-04-07 %02d:00": "DATETIME", "2026-04-07 %02d:00:00.000000": "TIMESTAMP",
		"2026-04-07T%02d:00:00":  "DATETIME",
		"2026-04-07T%02d:00:00Z": "DATETIME", "2026-04-07T%02d:00:00.000Z": "DATETIME",
		"2026-04-07 %02d:00:00+00:00": "DATETIME", "2026-04-07 %02d:00:00 +0000 UTC": "DATETIME",
		"2026-04-07 0%d:30:00-00:30": "DATETIME",
	} {
		var rows []string
		for id := 1; id <= 3; id++ {
			hour := id
			if strings.Contains(form, "-00:30") {
				hour-- // 00:30-00:30 is 01:00
			}
			rows = append(rows, fmt.Sprintf("(%d, '%s')", id, fmt.Sprintf(form, hour)))
		}
		url := testenv.SQLite(t)
		ddl := []string{"CREATE TABLE o (id INTEGER PRIMARY KEY, v " + column + " NOT NULL)",
			"INSERT INTO o VALUES " + strings.Join(rows, ", ")}
		src := openSource(t, url, "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}}, ddl...)
		for _, at := range typed {
			for _, c := range []struct {
				ties string
				key  map[string]string
				want string
			}{{TiesAfter, nil, `[{"id":3}]`}, {TiesBefore, nil, `[{"id":2} {"id":3}]`},
				{"", map[string]string{"id": "2"}, `[{"id":3}]`}, {"", map[string]string{"id": "1"}, `[{"id":2} {"id":3}]`}} {
				position, err := src.Position(t.Context(), at, c.key, c.ties)
				if err != nil {
					t.Errorf("%s from %s: %v", form, at, err)
					continue
				}
				if keys, err := drainFrom(t, src, position, 2); err != nil || fmt.Sprint(keys) != c.want {
					t.Errorf("%s from %s %s %v: %s, %v", form, at, c.ties, c.key, keys, err)
				}
			}
			start, _, err := openSource(t, url, "sqlite",
				plan.Config{Table: "o", Cursor: []string{"v"}, Start: at}).Start(t.Context())
			if err != nil {
				t.Errorf("%s starts at %s: %v", form, at, err)
			} else if keys, err := drainFrom(t, src, start, 2); err != nil || fmt.Sprint(keys) != `[{"id":3}]` {
				t.Errorf("%s starts at %s: %s, %v", form, at, keys, err)
			}
		}
		for _, at := range []string{"yesterday", "1775525025"} {
			if position, err := src.Position(t.Context(), at, nil, TiesAfter); !errors.Is(err, poller.ErrConfig) {
				t.Errorf("%s at %s: %s, %v", form, at, position, err)
			}
		}
	}
	// Among numbers a time is no position, and a number of another unit is none either.
	src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v DATETIME NOT NULL)", "INSERT INTO o VALUES (1, 1775525025)")
	for at, good := range map[string]bool{"2026-04-07": false, "1775525025000": false, "1775525024": true,
		"1775525024.5": true} {
		if position, err := src.Position(t.Context(), at, nil, TiesAfter); good != (err == nil) ||
			!good && !errors.Is(err, poller.ErrConfig) {
			t.Errorf("%s: %s, %v", at, position, err)
		}
	}
	// An empty table has no form yet: what comes first shows it.
	src = openSource(t, testenv.SQLite(t), "sqlite",
		plan.Config{Table: "o", Cursor: []string{"v"}, Start: "2026-04-07T02:00:00Z"},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v DATETIME NOT NULL)")
	start, _, err := src.Start(t.Context())
	if err != nil || string(start) != `{"kind":"timestamp+pk","value":"2026-04-07 02:00:00"}` {
		t.Errorf("%s, %v", start, err)
	}
}

// drainFrom returns the keys after a position.
func drainFrom(t *testing.T, src *Cursor, at change.Cursor, rows int) (keys []string, err error) {
	t.Helper()
	for {
		page, err := src.Fetch(t.Context(), change.Range{After: at}, poller.Limit{Rows: rows, Bytes: 1 << 20})
		if err != nil || len(page.Events) == 0 {
			return keys, err
		}
		for _, e := range page.Events {
			keys = append(keys, string(e.Key))
		}
		at = page.Events[len(page.Events)-1].Cursor
	}
}

// TestTheLookBesideAShorterTime: rows of another form are looked for from the position on that was asked from, also
// where the page shows a time that is written shorter.
func TestTheLookBesideAShorterTime(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	cfg := plan.Config{Table: "o", Cursor: []string{"v"}, LateCommits: "none"}
	src := openSource(t, url, "sqlite", cfg, "CREATE TABLE o (id INTEGER PRIMARY KEY, v DATETIME NOT NULL)",
		"INSERT INTO o VALUES (1, '2026-04-07 10:00:00.000420'), (2, '2026-04-08 00:00:00')")
	at := change.Cursor(`{"kind":"timestamp+pk","value":"2026-04-07 10:00:00.000420","tiebreaker":{"id":1}}`)
	page, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
	if err != nil || len(page.Events) != 1 || len(page.Warnings) > 0 {
		t.Errorf("%d events, warned %q, %v", len(page.Events), page.Warnings, err)
	}
}

// TestStraysAreFound: whatever form the position has, a row of another form that sorts below it is found, and named.
func TestStraysAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"'2026-04-07T01:00:00Z'", "'2026-04-07 23:00:00'"}, {"'2026-04-07 12:00:00'", "'2026-04-07'"},
		{"'2026-04-07 03:00:00+02:00'", "'2026-04-07 02:59:00'"},
		{"'2026-04-07 12:00:00+14:00'", "'2026-04-06 12:00:00-12:00'"}, {"'2026-04-07 12:00:00'", "1775525025"},
		{"1775525025123", "1775525026"}, {"1775525025", "2461137.5"},
		{"'2026-04-07T01:00:00Z'", "'2026-04-07T01:00:00.5Z'"},
	} {
		url := testenv.SQLite(t)
		cfg := plan.Config{Table: "o", Cursor: []string{"v"}, LateCommits: "none"}
		src := openSource(t, url, "sqlite", cfg, "CREATE TABLE o (id INTEGER PRIMARY KEY, v DATETIME NOT NULL)",
			"INSERT INTO o VALUES (1, "+c[0]+")")
		page, err := src.Fetch(t.Context(), change.Range{}, everything)
		if err != nil || len(page.Events) != 1 {
			t.Fatalf("%s: %v", c, err)
		}
		at := page.Events[0].Cursor
		openSource(t, url, "sqlite", cfg, "INSERT INTO o VALUES (2, "+c[1]+")")
		_, err = src.Fetch(t.Context(), change.Range{After: at}, everything)
		isNormalizeFault(t, err, `{"id":2}`, "rowrelay state reset <poller> --to ", strings.Trim(c[1], "'"))
		if check, err := src.Check(t.Context(), at, 1, 10); err != nil || !errors.Is(check.ReadError, poller.ErrNormalize) {
			t.Errorf("%s: check says %v, %v", c, check.ReadError, err)
		}
		// Mended, the rows are read on.
		openSource(t, url, "sqlite", cfg, "DELETE FROM o WHERE id = 2")
		if _, err := src.Fetch(t.Context(), change.Range{After: at}, everything); err != nil {
			t.Errorf("%s: mended, and still %v", c, err)
		}
	}
}

// TestStraysBesideLiveRows: a row of another form that sorts below the position is found although the page has rows, of
// whatever length their times are: they come from another day than the position's, by which the row is looked for.
func TestStraysBesideLiveRows(t *testing.T) {
	t.Parallel()
	for _, live := range []string{"2026-05-01T01:00:00Z", "2026-05-01T01:00:00.123Z"} {
		cfg := plan.Config{Table: "o", Cursor: []string{"v"}, LateCommits: "overlap"}
		url := testenv.SQLite(t)
		src := openSource(t, url, "sqlite", cfg, "CREATE TABLE o (id INTEGER PRIMARY KEY, v DATETIME NOT NULL)",
			"INSERT INTO o VALUES (1, '2026-04-07T01:00:00Z')")
		page, err := src.Fetch(t.Context(), change.Range{}, everything)
		if err != nil || len(page.Events) != 1 {
			t.Fatalf("%s: %v", live, err)
		}
		at := page.Events[0].Cursor
		openSource(t, url, "sqlite", cfg, "INSERT INTO o VALUES (2, '2026-04-07 23:00:00'), (3, '"+live+"')")
		_, err = src.Fetch(t.Context(), change.Range{After: at}, everything)
		isNormalizeFault(t, err, `{"id":2}`, "2026-04-07 23:00:00")
	}
}

// TestStraysArePlanned: with an index the look reads the position's days, not the table.
func TestStraysArePlanned(t *testing.T) {
	t.Parallel()
	src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v DATETIME NOT NULL)", "CREATE INDEX ix ON o (v)")
	p, err := src.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range []keyset.Statement{
		p.Sel.Numbers(0), p.Sel.NumbersBelow(0, timeform.Units[0]), p.Sel.Between(0, "a", "b"),
		p.Sel.OtherForm(0, p.Forms.Of([]byte(`"2026-04-07 01:23:45"`)), p.Forms, "2026-04-05", "2026-04-07 01:23:45"),
	} {
		args, err := p.Args(st, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var plan string
		err = src.sessions.Run(t.Context(), func(ctx context.Context, s *pool.Session) (err error) {
			plan, err = src.dialect.Explain(ctx, s.Conn, st.Text, args)
			return err
		})
		if err != nil || !strings.Contains(plan, "SEARCH r USING") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\n%s %v", st.Text, plan, err)
		}
	}
}
