package source

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestAlteredColumn: a column gets another type under a source that is at work. Its values come in the form of the type
// that it has now, from the first row on: MySQL's protocol brings the same bytes for a number and for a text.
func TestAlteredColumn(t *testing.T) {
	t.Parallel()
	maria := testenv.MySQL(t)
	postgres := testenv.Postgres(t)
	for name, e := range map[string]struct {
		url, driver, dsn, alter string
		types                   [][3]string // before, after, and the value of the row that is written then
	}{
		"mysql": {maria, "mysql", testenv.MySQLDSN(t, maria), "ALTER TABLE o MODIFY v ", [][3]string{
			{"int", "varchar(20)", "A12"}, {"json", "varchar(20)", "hello"}, {"varbinary(9)", "varchar(9)", "hello"},
			{"varchar(9)", "varbinary(9)", "hello"}, {"datetime", "varchar(20)", "hello"},
			{"decimal(9,2)", "varchar(20)", "hello"},
			{"double", "varchar(20)", "hello"}, {"varchar(9)", "int", "7"}, {"date", "datetime", "2026-01-02 03:04:05"},
			{"bit(8)", "varchar(9)", "hello"}, {"varchar(40)", "json", "[1]"}, {"int", "bigint", "9007199254740993"},
		}},
		"postgres": {postgres, "pgx", postgres, "ALTER TABLE o ALTER v TYPE ", [][3]string{
			{"int", "text", "A12"}, {"jsonb", "text", "hello"}, {"timestamp", "text", "hello"},
		}},
	} {
		for _, c := range e.types {
			t.Run(name+" "+c[0]+" to "+c[1], func(t *testing.T) {
				db := testenv.Open(t, e.driver, e.dsn)
				testenv.Exec(t, db, "DROP TABLE IF EXISTS o", "CREATE TABLE o (id int PRIMARY KEY, v "+c[0]+")",
					"INSERT INTO o (id) VALUES (1)")
				cfg := plan.Config{Table: "o", Cursor: []string{"id"}}
				src := newSource(t, e.url, cfg)
				before, _ := fetchAll(t, src, change.Range{}, 10)
				for made := identity(t, src); ; {
					testenv.Exec(t, db, e.alter+c[1])
					// Where JSON is a text, only the table's age tells, which MySQL says in seconds.
					if name != "mysql" || !strings.Contains(c[0]+c[1], "json") || identity(t, newSource(t, e.url, cfg)) != made {
						break
					}
				}
				src.mu.Lock()
				src.planned = src.planned.Add(-time.Minute)
				src.mu.Unlock()
				testenv.Exec(t, db, "INSERT INTO o (id, v) VALUES (2, '"+c[2]+"')")
				got, _ := fetchAll(t, src, change.Range{After: before[0].Position()}, 10)
				want, _ := fetchAll(t, newSource(t, e.url, cfg), change.Range{After: before[0].Position()}, 10)
				if len(got) != 1 || len(want) != 1 || string(got[0].Row) != string(want[0].Row) {
					t.Errorf("it arrives as %s, and for a new process as %s", got[0].Row, want[0].Row)
				}
			})
		}
	}
}
