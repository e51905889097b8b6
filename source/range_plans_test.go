package source

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// TestRangePlans asks the engines how they run what sweeps and retries read: a range by the index of the order, from
// end to end, and keys by the key's index, whether of one column or of several.
func TestRangePlans(t *testing.T) {
	t.Parallel()
	pg, my, lite := testenv.Postgres(t), testenv.MySQL(t), testenv.SQLite(t)
	for _, e := range []struct{ name, url, driver, dsn, fill, analyze, by, never string }{
		{"postgres", pg, "pgx", pg, "INSERT INTO o SELECT 'k' || n % 7, n, n / 10, n, n % 3 FROM generate_series(1, 20000) n",
			"ANALYZE o", "Index Cond", "Seq Scan"},
		{"mysql", my, "mysql", testenv.MySQLDSN(t, my),
			"INSERT INTO o SELECT CONCAT('k', seq % 7), seq, seq DIV 10, seq, seq % 3 FROM " + testenv.MySQLNumbers(20_000),
			"ANALYZE TABLE o",
			"type=range", "type=ALL"},
		{"sqlite", lite, "sqlite", strings.TrimPrefix(lite, "sqlite:"),
			"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 20000) INSERT INTO o SELECT 'k' || n % 7, n, n / 10, n, n % 3 FROM s",
			"ANALYZE", "SEARCH r", "SCAN"},
	} {
		t.Run(e.name, func(t *testing.T) {
			db := testenv.Open(t, e.driver, e.dsn)
			testenv.Exec(t, db,
				"CREATE TABLE o (k varchar(20) NOT NULL, id bigint NOT NULL, v bigint NOT NULL, u bigint NOT NULL UNIQUE, w bigint, PRIMARY KEY (k, id))",
				"CREATE INDEX ix ON o (v, k, id)", e.fill, e.analyze)
			where := "w < 2 OR w = 2"
			composite := newSource(t, e.url, plan.Config{Table: "o", Cursor: []string{"v"}, Where: where})
			byIndex := func(what string, src *Cursor, make func(*plan.Plan) (keyset.Statement, []any, error)) {
				t.Helper()
				p, err := src.current(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				st, args, err := make(p)
				if err != nil {
					t.Fatal(err)
				}
				var shown string
				err = src.sessions.Run(t.Context(), func(ctx context.Context, s *pool.Session) error {
					shown, err = src.dialect.Explain(ctx, s.Conn, st.Text, args)
					return err
				})
				if err != nil || !strings.Contains(shown, e.by) || strings.Contains(shown, e.never) {
					t.Errorf("%s: %v\n%.2000s", what, err, shown)
				}
			}
			from, to := keyset.Position{[]byte("900"), []byte(`"k1"`), []byte("7")},
				keyset.Position{[]byte("910"), []byte(`"k1"`), []byte("7")}
			byIndex("between rows", composite, func(p *plan.Plan) (keyset.Statement, []any, error) {
				st := p.Sel.Page(501, keyset.Span{After: 3, UpTo: 3})
				args, err := p.Args(st, from, to)
				return st, args, err
			})
			byIndex("up to a value", composite, func(p *plan.Plan) (keyset.Statement, []any, error) {
				st := p.Sel.Page(501, keyset.Span{UpTo: 1})
				args, err := p.Args(st, nil, keyset.Position{[]byte("5")})
				return st, args, err
			})
			for what, src := range map[string]*Cursor{"{\"k\":\"k%d\",\"id\":%d}": composite,
				"{\"u\":%[2]d}": newSource(t, e.url,
					plan.Config{Table: "o", Cursor: []string{"v"}, Key: []string{"u"}, Where: where})} {
				byIndex(what, src, func(p *plan.Plan) (keyset.Statement, []any, error) {
					var keys []keyset.Key
					for i := range 32 {
						k, err := p.DecodeKey(fmt.Appendf(nil, what, i%7, 1000+i))
						if err != nil {
							return keyset.Statement{}, nil, err
						}
						keys = append(keys, k)
					}
					st := p.Sel.ByKeys(p.KeyColumns(), keys, false)
					args, err := p.Args(st, nil, nil)
					return st, args, err
				})
			}
		})
	}
}
