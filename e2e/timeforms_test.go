package e2e

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// timeShop is a shop in SQLite whose cursor is a time, stored as each row says.
func timeShop(t *testing.T, url string, times ...string) (settings, *sql.DB) {
	t.Helper()
	s, db := sqliteShop(t, url, 0)
	execute(t, db, `DROP TABLE orders`)
	execute(t, db, `CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, updated_at DATETIME NOT NULL)`)
	execute(t, db, `CREATE INDEX orders_updated_at ON orders (updated_at, id)`)
	addTimes(t, db, times...)
	return s.with(settings{"pollers__orders__source__cursor": "updated_at"}), db
}

func addTimes(t *testing.T, db *sql.DB, times ...string) {
	t.Helper()
	for _, at := range times {
		execute(t, db, `INSERT INTO orders (updated_at) VALUES (?)`, at)
	}
}

// lost are the ids up to n that never came.
func lost(to *sink, n int) (ids []int) {
	came := to.column("id")
	for id := 1; id <= n; id++ {
		if came[fmt.Sprint(id)] == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// advised finds the command that an error text advises.
func advised(t *testing.T, text, command string) []string {
	t.Helper()
	found := regexp.MustCompile(`rowrelay ` + command + `[^\n\\"` + "`" + `;,)]*`).FindString(text)
	if found == "" {
		t.Fatalf("no %q is advised by:\n%s", command, text)
	}
	return strings.Fields(found)[1:]
}

// TestTwoSpellingsOfATime: rows whose time is spelled in another way than the position sort below it, and none of them
// is lost without a word: check and the tick refuse them, and after what the refusal advises every row has come.
func TestTwoSpellingsOfATime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{ // as one writer writes, and another after it; all forms: TestStraysAreFound
		"T and Z, then CURRENT_TIMESTAMP": {"2026-04-07T01:00:00Z", "2026-04-07 02:00:00"},
		"CURRENT_TIMESTAMP, then T and Z": {"2026-04-07 01:00:00", "2026-04-07T00:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			s, db := timeShop(t, to.URL, c[0], c[0])
			dir := t.TempDir()
			once(t, dir, s)
			addTimes(t, db, c[1], c[1], c[1])
			checked, _, err := command(t, dir, s, "check")
			if exitCode(t, err) != 1 {
				t.Error("check passes over it")
			}
			wants(t, checked, `"updated_at"`, "write all of the column's times in one form")
			out, errs, err := command(t, dir, s, "run", "--once")
			if exitCode(t, err) != 1 {
				t.Errorf("passed over; lost %v\n%s%s", lost(to, 5), out, errs)
			}
			wants(t, out+errs, `updated_at`, "write all of the column's times in one form")
			execute(t, db, `UPDATE orders SET updated_at = replace(rtrim(updated_at, 'Z'), 'T', ' ')`)
			operate(t, dir, s, advised(t, out+errs, "state reset orders")...)
			once(t, dir, s)
			if ids := lost(to, 5); len(ids) > 0 {
				t.Errorf("after what was advised %v have not come", ids)
			}
			if out, errs, err := command(t, dir, s, "check"); err != nil {
				t.Errorf("check: %s%s", out, errs)
			}
		})
	}
}

// TestStoredPositionInAnotherForm: a document that an older binary put at a time in another form than the column's is
// refused, not followed past the column's rows.
func TestStoredPositionInAnotherForm(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := timeShop(t, to.URL, "2026-04-07 01:00:00")
	dir := t.TempDir()
	once(t, dir, s)
	for path, text := range filesBelow(t, filepath.Join(s["state__path"], "state")) {
		text = strings.ReplaceAll(text, "2026-04-07 01", "2026-04-07T01")
		testfile.Write(t, path, text)
	}
	addTimes(t, db, "2026-04-07 02:00:00", "2026-04-07 03:00:00")
	out, errs, err := command(t, dir, s, "run", "--once")
	if exitCode(t, err) != 1 {
		t.Errorf("followed; lost %v\n%s%s", lost(to, 3), out, errs)
	}
	operate(t, dir, s, advised(t, out+errs, "state reset orders")...)
	once(t, dir, s)
	if ids := lost(to, 3); len(ids) > 0 {
		t.Errorf("after what was advised %v have not come", ids)
	}
}
