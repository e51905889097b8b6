package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestSQLiteCountsCommits: rows that share an order key are read again when something was committed, and not otherwise.
// A row that is written and not committed changes nothing. Where more than a table chooses the rows, nothing is known.
func TestSQLiteCountsCommits(t *testing.T) {
	t.Parallel()
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			url := testenv.SQLite(t)
			db := testenv.Open(t, "sqlite", strings.TrimPrefix(url, "sqlite:")+"?_pragma=journal_mode("+journal+")")
			do := func(statement string) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			do("CREATE TABLE orders (id integer PRIMARY KEY, owner integer NOT NULL)")
			do("CREATE VIEW some AS SELECT * FROM orders")
			do("INSERT INTO orders VALUES (1, 1), (2, 1), (5, 1)")
			cfg := plan.Config{Table: "orders", Cursor: []string{"id"}, Key: []string{"id"}, OrderKey: []string{"owner"},
				LateCommits: "overlap"}
			src := newSource(t, url, cfg)
			at := func(id int) change.Cursor {
				return fmt.Appendf(nil, `{"kind":"integer+pk","value":%d,"tiebreaker":{"id":%[1]d}}`, id)
			}
			var last change.State
			fetch := func(c *Cursor) (again int) {
				t.Helper()
				p, err := c.Fetch(t.Context(), change.Range{After: at(4), Again: at(0), Late: true,
					Known: func(*change.Event, string) bool { again++; return true },
					Same:  func(s change.State) bool { return s.Counter != 0 && s == last }}, poller.Limit{Rows: 10, Bytes: 1 << 20})
				if err != nil {
					t.Fatal(err)
				}
				if len(p.Events) != 1 {
					t.Errorf("%d rows after the position", len(p.Events))
				}
				last = p.State
				return again
			}
			expect := func(when string, rows int) {
				t.Helper()
				if again := fetch(src); again != rows {
					t.Errorf("%s: %d rows are read again, not %d", when, again, rows)
				}
			}
			expect("at first", 2)
			expect("nothing was committed", 0)
			do("INSERT INTO orders VALUES (3, 1)")
			expect("a row was committed", 3)
			expect("nothing was committed since", 0)
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO orders VALUES (4, 1)"); err != nil {
				t.Fatal(err)
			}
			expect("a row is not committed yet", 0)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			expect("it is", 4)
			do("CREATE TABLE others (id integer)")
			expect("something else was committed", 4)
			for _, change := range []func(*plan.Config){
				func(c *plan.Config) { c.Where = "owner = 1" },
				func(c *plan.Config) { c.Table = "some" },
				func(c *plan.Config) { c.Table, c.Query = "", "SELECT * FROM orders" },
			} {
				other := cfg
				change(&other)
				src := newSource(t, url, other)
				if first, second := fetch(src), fetch(src); first != 4 || second != 4 {
					t.Errorf("%+v: %d, then %d rows are read again, not 4", other, first, second)
				}
			}
		})
	}
}
