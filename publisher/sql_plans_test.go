package publisher

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// planned are the statements that are sent again and again, also when there is nothing to do.
var planned = map[string]func(context.Context, *instance) error{
	"look":  func(ctx context.Context, t *instance) error { _, err := t.rows.Look(ctx); return err },
	"fetch": func(ctx context.Context, t *instance) error { return fetched(ctx, t, nil, false) },
	"fetch ranges": func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, []claims.Range{{From: 7, To: 16}, {From: 64, To: 80}}, false)
	},
	"fetch one bucket": func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, []claims.Range{{From: 7, To: 8}}, false)
	},
	"fetch beside it": func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, []claims.Range{{From: 0, To: 7}, {From: 8, To: claims.Buckets}}, false)
	},
	"fetch by seq": func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, []claims.Range{{From: 0, To: 512}, {From: 640, To: 768}}, true)
	},
	"due": func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.Due(ctx, []claims.Range{{From: 0, To: 16}}, poller.Limit{Rows: 10})
		return err
	},
	"other": func(ctx context.Context, t *instance) error {
		_, err := t.rows.Others(ctx, nil, []event.Aggregate{{Type: "O", ID: "1"}}, poller.Limit{Rows: 1})
		return err
	},
	"settle": func(ctx context.Context, t *instance) error { return t.rows.Settle(ctx, "me", 1, goldenMarks) },
	"mend":   func(ctx context.Context, t *instance) error { _, err := t.rows.Mend(ctx); return err },
	"work": func(ctx context.Context, t *instance) error {
		_, err := t.rows.Work(ctx, []int{0, 1, 7, 63}, 64)
		return err
	},
	"figures": func(ctx context.Context, t *instance) error { _, err := t.rows.Figures(ctx); return err },
}

// TestPlans: with many published events, many that wait and a handful of others, no statement reads the table.
// PostgreSQL plans by statistics from when all of them were pending, the worst that autovacuum can leave.
func TestPlans(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	everyEngine(t, func(t *testing.T, b *bench) {
		if b.conn.Engine == "sqlserver" {
			t.Skip("SQL Server shows no plan of a parametrised statement")
		}
		b.fill(100_000)
		if b.conn.Engine == "postgres" {
			// it would make statistics in the middle, and other plans right
			b.exec("ALTER TABLE outbox SET (autovacuum_enabled = off)")
			b.exec("ANALYZE outbox")
		}
		b.exec("UPDATE outbox SET state = 'PUBLISHED' WHERE " + b.texts.rows.Seq() + " > 20")
		b.exec("UPDATE outbox SET state = 'FAILED', next_attempt_at = " + b.db.Now() + " WHERE " + b.texts.rows.Seq() +
			" = 1")
		b.exec("UPDATE outbox SET state = 'WAITING' WHERE " + b.texts.rows.Seq() + " = 2")
		b.exec("UPDATE outbox SET state = 'WAITING' WHERE " + b.texts.rows.Seq() + " > 60000") // and no statistics know of it
		b.take("me", time.Minute, 0)
		statements := maps.Clone(planned)
		statements["fetch a large page"] = func(ctx context.Context, t *instance) error { // to read all seems cheaper
			_, _, err := t.rows.Fetch(ctx, nil, true, poller.Limit{Rows: 5000})
			return err
		}
		for name, do := range statements {
			table, r := recordedAs(t, b.conn.Engine, b.outbox, b.catalog.claims, b.claims.Place.Outbox)
			if err := do(t.Context(), table); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, text := range r.Plain {
				plan := b.explain(text, r.Args[i])
				if bad := readsAll(b.conn.Engine, plan); bad != "" {
					t.Errorf("%s: %s\n%s\n%s", name, bad, text, plan)
				}
			}
		}
	})
}

// TestPagesSeek: a page of the bucket where the many events of one aggregate are reads no more than it brings, and a
// page of the others nothing of it. MariaDB counts what it reads.
func TestPagesSeek(t *testing.T) {
	t.Parallel()
	b := newBench(t, testenv.MySQL)
	const events, limit = 3000, 10
	b.fillOf(events, 1, event.Pending)
	b.exec("ANALYZE TABLE outbox")
	var bucket int
	b.must(b.db.Pool.QueryRowContext(t.Context(), "SELECT MIN(bucket) FROM outbox").Scan(&bucket))
	conn, err := b.db.Pool.Conn(t.Context())
	b.must(err)
	defer conn.Close() //nolint:errcheck // the bench closes the pool
	each := func(text string, args []any, row func(*sql.Rows)) {
		rows, err := conn.QueryContext(t.Context(), text, args...)
		b.must(err)
		defer rows.Close() //nolint:errcheck // Err tells
		for rows.Next() {
			row(rows)
		}
		b.must(rows.Err())
	}
	reads := func() (n int) {
		each("SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_next', 'Handler_read_prev')", nil,
			func(rows *sql.Rows) {
				var name string
				var count int
				b.must(rows.Scan(&name, &count))
				n += count
			})
		return n
	}
	for _, c := range []struct {
		ranges []claims.Range
		want   int
	}{
		{[]claims.Range{{From: bucket, To: bucket + 1}}, limit + 1},
		{[]claims.Range{{From: 0, To: bucket}, {From: bucket + 1, To: claims.Buckets}}, 0},
	} {
		table, r := recordedAs(t, b.conn.Engine, b.outbox, b.catalog.claims, b.claims.Place.Outbox)
		_, _, err = table.rows.Fetch(t.Context(), c.ranges, false, poller.Limit{Rows: limit})
		b.must(err)
		before, found := reads(), 0
		each(r.Plain[0], r.Args[0], func(*sql.Rows) { found++ })
		if n := reads() - before; found != c.want || n > 5*limit {
			t.Errorf("%d rows were read for %d:\n%s", n, found, r.Plain[0])
		}
	}
}

// fill writes n pending events of n/10 aggregates in one statement.
func (b *bench) fill(n int) { b.fillAs(n, event.Pending) }

func (b *bench) fillAs(n int, state event.State) { b.fillOf(n, max(n/10, 1), state) }

// fillOf writes n events of so many aggregates, O/0 and so on.
func (b *bench) fillOf(n, aggregates int, state event.State) {
	b.tb.Helper()
	const columns = "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key, state, published_at) "
	published := "NULL"
	if state == event.Published {
		published = b.db.Now()
	}
	if b.conn.Engine == "postgres" {
		published = strings.Replace(published, "NULL", "CAST(NULL AS timestamptz)", 1)
	}
	b.series(columns+fmt.Sprintf("SELECT 'O', n %% %d, 'Happened', '{\"n\":1}', n, '%s', %s", aggregates, state,
		published), n)
}

// series runs INSERT … SELECT over n numbers n.
func (b *bench) series(insert string, n int) {
	b.tb.Helper()
	before, values, _ := strings.Cut(insert, "SELECT")
	values = "SELECT" + values
	switch b.conn.Engine {
	case "postgres":
		b.exec(insert + fmt.Sprintf(" FROM generate_series(1, %d) n", n))
	case "mysql":
		b.exec(fmt.Sprintf("%sWITH RECURSIVE d(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM d WHERE i < 99), s AS (SELECT a.i + 100 * b.i + 10000 * c.i AS n "+
			"FROM d a, d b, d c WHERE c.i < 1 + %d / 10000) %s FROM s WHERE n < %d", before, n, values, n))
	case "sqlserver":
		ten := "(VALUES (0), (0), (0), (0), (0), (0), (0), (0), (0), (0)) AS "
		b.exec(insert + fmt.Sprintf(" FROM (SELECT TOP (%d) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n "+
			"FROM %sa (i), %sb (i), %sc (i), %sd (i), %se (i)) AS s", n, ten, ten, ten, ten, ten))
	default:
		b.exec(fmt.Sprintf("%sWITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) %s FROM s",
			before, n, values))
	}
}

// analyze makes statistics of the table as it is.
func (b *bench) analyze() {
	b.tb.Helper()
	b.exec("ANALYZE " + map[string]string{"mysql": "TABLE "}[b.conn.Engine] + "outbox")
}

// explain returns one line for each step of a plan.
func (b *bench) explain(text string, args []any) string {
	b.tb.Helper()
	verb := map[string]string{"postgres": "EXPLAIN ", "mysql": "EXPLAIN FORMAT=TRADITIONAL ",
		"sqlite": "EXPLAIN QUERY PLAN "}[b.conn.Engine]
	rows, err := b.db.Pool.QueryContext(context.Background(), verb+text, args...)
	if err != nil {
		b.tb.Fatalf("%v\n%s", err, text)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells
	names, err := rows.Columns()
	b.must(err)
	var plan strings.Builder
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		b.must(rows.Scan(values...))
		for i, v := range values {
			value := *v.(*any)
			if data, ok := value.([]byte); ok {
				value = string(data)
			}
			fmt.Fprintf(&plan, "%s=%v ", names[i], value)
		}
		plan.WriteByte('\n')
	}
	b.must(rows.Err())
	return plan.String()
}

var (
	sqliteScan  = regexp.MustCompile(`SCAN [obda]\b`)
	sqliteSmall = regexp.MustCompile(`SCAN [obda] USING (COVERING )?INDEX outbox_(pending|due|blocked)`)
)

// readsAll names the step of a plan that reads the outbox from one end to the other.
func readsAll(engine, plan string) string {
	lines := strings.Split(plan, "\n")
	for i, line := range lines {
		switch engine {
		case "postgres":
			if strings.Contains(line, "Seq Scan on outbox") {
				return "a scan of the table"
			}
			if strings.Contains(line, "outbox_pkey on outbox") &&
				(i+1 >= len(lines) || !strings.Contains(lines[i+1], "Index Cond")) {
				return "a scan of the primary key"
			}
		case "mysql":
			if regexp.MustCompile(`table=[obd] .*type=(ALL|index) `).MatchString(line) {
				return "a scan of the table or of an index"
			}
		case "sqlite":
			if sqliteScan.MatchString(line) && !sqliteSmall.MatchString(line) {
				return "a scan of the table"
			}
		}
	}
	return ""
}
