package source

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// BenchmarkFetch drains a table of 100,000 rows in pages of 500, beside a bare loop that reads the same keyset pages
// and makes nothing of them. One op is one row.
//
//	go test ./source -run '^$' -bench Fetch -benchtime 1000000x
func BenchmarkFetch(b *testing.B) {
	const rows, page = 100_000, 500
	b.Run("postgres", func(b *testing.B) {
		url := testenv.Postgres(b)
		db := benchTable(b, "pgx", url,
			`CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int NOT NULL, amount numeric(12,2) NOT NULL, status varchar(20) NOT NULL, note text, updated_at timestamptz NOT NULL)`,
			`INSERT INTO orders SELECT n, n % 1000, n / 7.0, 'shipped', CASE WHEN n % 3 = 0 THEN 'a note of some length, with "quotes"' END,
				timestamptz '2026-04-07 00:00:00+00' + (n / 10) * interval '1 second' FROM generate_series(1, 100000) n`,
			"CREATE INDEX ix ON orders (updated_at, id)", "ANALYZE orders")
		b.Run("source", func(b *testing.B) { benchSource(b, url, page) })
		b.Run("bare", func(b *testing.B) {
			conn, err := pgx.Connect(b.Context(), url)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close(b.Context()) //nolint:errcheck // the benchmark is over
			for n := 0; n < b.N; n += rows {
				at, id := "-infinity", "0"
				for {
					r, err := conn.Query(b.Context(), `SELECT id, customer_id, amount, status, note, updated_at FROM orders
						WHERE (updated_at, id) > ($1::timestamptz, $2::bigint) ORDER BY updated_at, id LIMIT 500`,
						pgx.QueryResultFormats{pgx.TextFormatCode}, at, id)
					if err != nil {
						b.Fatal(err)
					}
					got := 0
					for r.Next() {
						v := r.RawValues()
						if got++; got == page {
							at, id = string(v[5]), string(v[0])
						}
					}
					if r.Err() != nil {
						b.Fatal(r.Err())
					}
					if got < page {
						break
					}
				}
			}
		})
		_ = db
	})
	b.Run("sqlite", func(b *testing.B) {
		url := testenv.SQLite(b)
		db := benchTable(b, "sqlite", strings.TrimPrefix(url, "sqlite:"), "PRAGMA journal_mode = wal",
			`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id int NOT NULL, amount numeric(12,2) NOT NULL, status varchar(20) NOT NULL, note text, updated_at datetime NOT NULL)`,
			`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 100000)
				INSERT INTO orders SELECT n, n % 1000, n / 7.0, 'shipped', CASE WHEN n % 3 = 0 THEN 'a note of some length, with "quotes"' END,
				datetime('2026-04-07', '+' || (n / 10) || ' seconds') FROM s`,
			"CREATE INDEX ix ON orders (updated_at, id)", "ANALYZE")
		b.Run("source", func(b *testing.B) { benchSource(b, url, page) })
		b.Run("bare", func(b *testing.B) { benchBareSQLite(b, db, rows, page) })
	})
}

func benchTable(b *testing.B, driver, dsn string, statements ...string) *sql.DB {
	b.Helper()
	db := testenv.Open(b, driver, dsn)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			b.Fatal(err)
		}
	}
	return db
}

func benchSource(b *testing.B, url string, page int) {
	conn, err := engines.Parse(url)
	if err != nil {
		b.Fatal(err)
	}
	src, err := New(plan.Config{Poller: "bench", Table: "orders", Cursor: []string{"updated_at"}}, conn)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close() //nolint:errcheck // the benchmark is over
	b.ReportAllocs()
	for n := 0; n < b.N; {
		var after []byte
		for {
			p, err := src.Fetch(b.Context(), change.Range{After: after}, poller.Limit{Rows: page, Bytes: 8 << 20})
			if err != nil {
				b.Fatal(err)
			}
			n += len(p.Events)
			if !p.More {
				break
			}
			after = p.Events[len(p.Events)-1].Cursor
		}
	}
}

func benchBareSQLite(b *testing.B, db *sql.DB, rows, page int) {
	stmt, err := db.Prepare(`SELECT id, customer_id, amount, status, note, +updated_at FROM orders
		WHERE (updated_at, id) > (?1, ?2) ORDER BY updated_at, id LIMIT 500`)
	if err != nil {
		b.Fatal(err)
	}
	defer stmt.Close() //nolint:errcheck // the benchmark is over
	var id, customer int64
	var amount float64
	var status, at string
	var note sql.NullString
	read := func() (n int) {
		r, err := stmt.Query(at, id)
		if err != nil {
			b.Fatal(err)
		}
		defer r.Close() //nolint:errcheck // r.Err is what tells
		for ; r.Next(); n++ {
			if err := r.Scan(&id, &customer, &amount, &status, &note, &at); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Err(); err != nil {
			b.Fatal(err)
		}
		return n
	}
	for n := 0; n < b.N; n += rows {
		for at, id = "", 0; read() == page; {
		}
	}
}
