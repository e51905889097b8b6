package source

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/enginetest"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// uniting makes an engine that seeks on row values read pages as SQL Server is asked for them.
type uniting struct{ engine.Dialect }

func (d uniting) Syntax() engine.Syntax {
	s := d.Dialect.Syntax()
	s.RowValues, s.Unites = false, true
	return s
}

// TestSeeksReadTheirRange holds pages by united seeks against pages by row values: every pair of positions, of all
// columns, the cursor's, or none, on every number of columns, in small tables that are full of ties.
func TestSeeksReadTheirRange(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	db := testenv.Open(t, "sqlite", strings.TrimPrefix(testenv.SQLite(t), "sqlite:"))
	testenv.Exec(t, db,
		"CREATE TABLE o (a int NOT NULL, b int NOT NULL, c int NOT NULL, d int NOT NULL, PRIMARY KEY (a, b, c, d))")
	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a test's
	for range 60 {
		testenv.Exec(t, db, fmt.Sprintf("INSERT OR IGNORE INTO o VALUES (%d, %d, %d, %d)", random.IntN(3), random.IntN(3),
			random.IntN(3), random.IntN(3)))
	}
	var checked int
	for n := 1; n <= 4; n++ {
		for cursors := 1; cursors <= n; cursors++ {
			plain := keyset.Selection{Syntax: syntaxOf(sqlite.Dialect{}), From: "o", Cursors: cursors}
			for _, name := range []string{"a", "b", "c", "d"} {
				plain.Columns = append(plain.Columns, goldenColumn(t, sqlite.Dialect{}, name, engine.KindInteger, false))
			}
			// Fewer order columns than the table's key: rows of one place may come in any order, so that whole rows are sorted.
			plain.Order = plain.Columns[:n]
			united := plain
			united.Syntax = syntaxOf(uniting{sqlite.Dialect{}})
			for range 150 {
				from, to := randomPosition(random, n, cursors), randomPosition(random, n, cursors)
				in := keyset.Span{After: len(from), UpTo: len(to)}
				limit := 100
				if n == 4 {
					limit = 1 + random.IntN(30) // a full page ends in the right place, too
				}
				want := rowsOf(t, db, &plain, plain.Page(limit, in), from, to)
				in.Common = random.IntN(keyset.Common(from, to) + 1) // less may be known than is true
				if got := rowsOf(t, db, &united, united.Page(limit, in), from, to); !slices.Equal(got, want) {
					t.Fatalf("%d columns, after %s, up to %s, common %d: got %v, want %v", n, from, to, in.Common, got, want)
				}
				checked += len(want)
			}
		}
	}
	if checked < 5000 {
		t.Errorf("only %d rows were compared", checked)
	}
}

func randomPosition(random *rand.Rand, n, cursors int) keyset.Position {
	pos := make(keyset.Position, []int{0, cursors, n}[random.IntN(3)])
	for i := range pos {
		pos[i] = fmt.Append(nil, random.IntN(3))
	}
	return pos
}

func rowsOf(t *testing.T, db *sql.DB, s *keyset.Selection, st keyset.Statement, from,
	to keyset.Position) (rows []string) {
	t.Helper()
	args, err := (&plan.Plan{Dialect: sqlite.Dialect{}, Sel: *s}).Args(st, from, to)
	if err != nil {
		t.Fatal(err)
	}
	got, err := db.QueryContext(t.Context(), st.Text, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, st.Text)
	}
	defer got.Close() //nolint:errcheck // Err tells
	for got.Next() {
		var r [4]int
		if err := got.Scan(&r[0], &r[1], &r[2], &r[3]); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprint(r))
	}
	if err := got.Err(); err != nil {
		t.Fatal(err)
	}
	if len(s.Order) < 4 {
		slices.Sort(rows)
	}
	return rows
}

// TestTiesAreReadOnce reads pages out of the middle of many rows that have one cursor, and counts what the engine reads
// for them: not the ties before the position, nor those after the end.
func TestTiesAreReadOnce(t *testing.T) {
	t.Parallel()
	const ties, rows, limit = 5000, 25, 100
	pg, my, lite := testenv.Postgres(t), testenv.MySQL(t), testenv.SQLite(t)
	for _, e := range []struct {
		name, url, driver, dsn, analyze, fill string
		as                                    func(engine.Dialect) engine.Dialect
		read                                  func(*testing.T, *pool.Session, keyset.Statement, []any) int
	}{
		{"postgres", pg, "pgx", pg, "ANALYZE",
			"INSERT INTO %s SELECT n %% 3, 5, 'k' || n %% 7, n FROM generate_series(1, 5000) n", nil, postgresReads},
		// The statements that SQL Server is sent, on an engine that counts.
		{"united", pg, "pgx", pg, "", "", func(d engine.Dialect) engine.Dialect { return uniting{d} }, postgresReads},
		{"mysql", my, "mysql", testenv.MySQLDSN(t, my), "ANALYZE TABLE",
			"INSERT INTO %s SELECT seq %% 3, 5, CONCAT('k', seq %% 7), seq FROM " + testenv.MySQLNumbers(ties), nil, mysqlReads},
		{"sqlite", lite, "sqlite", strings.TrimPrefix(lite, "sqlite:"),
			"ANALYZE", "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 5000) INSERT INTO %s SELECT n %% 3, 5, 'k' || n %% 7, n FROM s", nil, nil},
	} {
		t.Run(e.name, func(t *testing.T) {
			db := testenv.Open(t, e.driver, e.dsn)
			for _, c := range []struct {
				table, key string
				cursor     []string
			}{{"one", "id", []string{"v"}}, {"two", "k, id", []string{"v"}}, {"three", "k, id", []string{"v", "w"}}} {
				order := strings.Join(c.cursor, ", ") + ", " + c.key
				if e.fill != "" {
					testenv.Exec(t, db, "CREATE TABLE "+c.table+
						" (w bigint NOT NULL, v bigint NOT NULL, k varchar(20) NOT NULL, id bigint NOT NULL, PRIMARY KEY ("+c.key+"))",
						"CREATE INDEX ix_"+c.table+" ON "+c.table+" ("+order+")", fmt.Sprintf(e.fill, c.table), e.analyze+" "+c.table)
				}
				src := newSource(t, e.url, plan.Config{Table: c.table, Cursor: c.cursor})
				if e.as != nil {
					src.dialect = e.as(src.dialect)
				}
				p, err := src.current(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				// In the middle of the ties, and so many rows on.
				from, to := tiePlace(t, db, p, ties/2), tiePlace(t, db, p, ties/2+rows)
				for what, ends := range map[string][2]keyset.Position{"a page": {from, nil}, "a sweep within the ties": {from, to},
					"a sweep into the ties": {keyset.Position{[]byte("4")}, tiePlace(t, db, p, rows)}} {
					in := keyset.Span{After: len(ends[0]), UpTo: len(ends[1]), Common: keyset.Common(ends[0], ends[1])}
					st := p.Sel.Page(limit, in)
					args, err := p.Args(st, ends[0], ends[1])
					if err != nil {
						t.Fatal(err)
					}
					err = src.sessions.Run(t.Context(), func(ctx context.Context, s *pool.Session) error {
						if e.read == nil {
							// SQLite counts nothing, and says which columns bound the search.
							shown, err := src.dialect.Explain(ctx, s.Conn, st.Text, args)
							all := "(" + strings.ReplaceAll(order, " ", "") + ")"
							if len(ends[0]) > 1 && !strings.Contains(shown, all+">(") ||
								len(ends[1]) > 1 && !strings.Contains(shown, all+"<(") {
								t.Errorf("%s (%s): %s: not all columns bound the search: %s", c.table, order, what, shown)
							}
							return err
						}
						most := limit
						if ends[1] != nil {
							most = rows
						}
						if src.dialect.Syntax().Unites {
							most *= len(p.Sel.Seeks(in)) // each may read a page
						}
						if n := e.read(t, s, st, args); n < rows || n > most+10 {
							t.Errorf("%s (%s): %s: %d rows were read for %d:\n%s", c.table, order, what, n, most, st.Text)
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// tiePlace is the position of the n-th row.
func tiePlace(t *testing.T, db *sql.DB, p *plan.Plan, n int) keyset.Position {
	t.Helper()
	pos := make(keyset.Position, len(p.Sel.Order))
	into := make([]any, len(pos))
	values := make([]any, len(pos))
	for i := range into {
		into[i] = &values[i]
	}
	order := strings.Join(keyset.ColumnNames(p.Sel.Order), ", ")
	if err := db.QueryRowContext(t.Context(),
		fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %d", order, p.Sel.From, order,
			n-1)).Scan(into...); err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		if p.Sel.Order[i].Value.Kind == engine.KindText {
			v = fmt.Sprintf("%q", v)
		}
		pos[i] = fmt.Append(nil, v)
	}
	return pos
}

// postgresReads runs a statement and counts the rows that it reads of tables.
func postgresReads(t *testing.T, s *pool.Session, st keyset.Statement, args []any) int {
	t.Helper()
	return enginetest.PostgresReads(t, s.Conn, st.Text, args...)
}

// mysqlReads runs a statement and counts the rows that it reads by the server's own counters of the session.
func mysqlReads(t *testing.T, s *pool.Session, st keyset.Statement, args []any) int {
	t.Helper()
	each := func(text string, args []any, row func(*sql.Rows) error) {
		t.Helper()
		rows, err := s.Conn.QueryContext(t.Context(), text, args...)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		defer rows.Close() //nolint:errcheck // Err tells
		for rows.Next() {
			if err := row(rows); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	counters := func() (sum int) {
		each("SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd', "+
			"'Handler_read_first', 'Handler_read_key')", nil, func(rows *sql.Rows) error {
			var name string
			var n int
			err := rows.Scan(&name, &n)
			sum += n
			return err
		})
		return sum
	}
	before := counters()
	each(st.Text, args, func(*sql.Rows) error { return nil })
	return counters() - before
}
