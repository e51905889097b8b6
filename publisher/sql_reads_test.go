package publisher

import (
	"context"
	"database/sql"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/enginetest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// fewRows is what a statement may read, whatever the table holds: a page of 500 events, and the heads of their
// aggregates three times over.
const fewRows = 3000

// linear are the statements that may read as much as the table holds, and why.
var linear = map[string]string{
	"postgres figures":      "it counts",
	"mysql figures":         "it counts",
	"postgres fetch":        "to read a table of this size is cheaper than to seek 500 times",
	"postgres fetch by seq": "as fetch",
	"postgres other":        "it looks for an event of another aggregate than the only one that there is",
	"postgres settle":       "of the only aggregate that there is it reads what waits",
	"postgres mend":         "it looks at what waits",
	"mysql mend":            "as on PostgreSQL",
	// people ask for these; in the order of the table they pass over what is in other states
	"postgres list what is pending": "there are few, say the statistics: it sorts them",
	"postgres list what failed":     "there are many, say the statistics: it passes over what waits",
	"mysql list what failed":        "as on PostgreSQL",
}

// plannedPages are the statements of operators and of the clean-up, which go page by page.
var plannedPages = map[string]func(context.Context, *instance) error{
	"again": func(ctx context.Context, t *instance) error {
		_, err := t.rows.Again(ctx, []event.Ref{{Seq: 1}, {Seq: 2}, {Seq: 3}})
		return err
	},
	"list": func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.Page(ctx, &event.Filter{}, "", 500)
		return err
	},
	"list what failed": func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.Page(ctx, &event.Filter{States: []event.State{event.Failed, event.Dead}}, "", 500)
		return err
	},
	"list what is pending": func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.Page(ctx, &event.Filter{States: []event.State{event.Pending}}, "", 500)
		return err
	},
	"clean up": func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.Clean(ctx, "", 500)
		return err
	},
}

// TestRowsRead: what a statement reads does not grow with the table, whatever its shape; and nothing reads the table
// more than three times over. MariaDB and PostgreSQL count what they read; of SQLite TestPlans looks at the plans.
func TestRowsRead(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	const events = 100_000
	everyEngine(t, func(t *testing.T, b *bench) {
		if b.conn.Engine != "postgres" && b.conn.Engine != "mysql" {
			t.Skip("it does not count what it reads")
		}
		seq := b.texts.rows.Seq()
		if b.conn.Engine == "postgres" {
			b.exec("ALTER TABLE outbox SET (autovacuum_enabled = off)")
		}
		b.take("me", time.Hour, 0)
		all := maps.Clone(planned)
		maps.Copy(all, plannedPages)
		shapes := []struct {
			name    string
			prepare func()
		}{
			{"statistics of an empty table", func() {}},
			{"many aggregates", func() { b.fillOf(events, events/10, event.Pending) }},
			{"one aggregate", func() { b.fillOf(events, 1, event.Pending) }},
			{"nearly all published", func() {
				b.fillOf(events, events/10, event.Pending)
				b.exec("UPDATE outbox SET state = 'PUBLISHED' WHERE " + seq + " % 1000 <> 0")
			}},
			{"nearly all waiting", func() {
				b.fillOf(events, 1, event.Waiting)
				b.exec("UPDATE outbox SET state = 'FAILED', next_attempt_at = " + b.db.Now() + " WHERE " + seq + " % 10000 = 1")
			}},
		}
		for _, shape := range shapes {
			b.exec("DELETE FROM outbox")
			shape.prepare()
			b.analyze()
			if shape.name == shapes[0].name {
				b.fillOf(events, events/10, event.Pending)
			}
			for name, do := range all {
				table, r := recordedAs(t, b.conn.Engine, b.outbox, b.catalog.claims, b.claims.Place.Outbox)
				if err := do(t.Context(), table); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for i, text := range r.Plain {
					most := fewRows
					if linear[b.conn.Engine+" "+name] != "" {
						most += 3 * events
					}
					if n := b.reads(t, text, r.Args[i]); n > most {
						t.Errorf("%s: %s reads %d rows\n%s\n%s", shape.name, name, n, text, b.explain(text, r.Args[i]))
					}
				}
			}
		}
	})
}

// TestRowsReadBesideABacklog: what one aggregate of another instance has to publish costs this one nothing, in whatever
// order it reads, and it finds what lies behind.
func TestRowsReadBesideABacklog(t *testing.T) {
	t.Parallel()
	const events = 20_000
	everyEngine(t, func(t *testing.T, b *bench) {
		b.fillOf(events, 1, event.Pending)
		b.analyze()
		var busy int
		b.must(b.raw.QueryRowContext(t.Context(), "SELECT MAX(bucket) FROM outbox").Scan(&busy))
		b.write("O/1", "O/2", "O/3", "O/4")
		mine := []claims.Range{{From: 0, To: busy}, {From: busy + 1, To: claims.Buckets}}
		var want int
		b.must(b.raw.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM outbox WHERE bucket <> "+strconv.Itoa(busy)).Scan(&want))
		for _, bySeq := range []bool{false, true} {
			table, r := recordedAs(t, b.conn.Engine, b.outbox, b.catalog.claims, b.claims.Place.Outbox)
			b.must(fetched(t.Context(), table, mine, bySeq))
			if b.conn.Engine != "sqlite" { // it does not count
				for i, text := range r.Plain {
					if n := b.reads(t, text, r.Args[i]); n > fewRows {
						t.Errorf("by seq %t: reads %d rows\n%s\n%s", bySeq, n, text, b.explain(text, r.Args[i]))
					}
				}
			}
			if rows, _, err := b.rows.Fetch(t.Context(), mine, bySeq, poller.Limit{Rows: 500}); err != nil ||
				!bySeq && len(rows) != want {
				t.Errorf("by seq %t: %d of %d rows, %v", bySeq, len(rows), want, err)
			}
		}
	})
}

// TestRowsReadOfClaims: what a statement reads of the claims grows with their number, and not with its square, although
// no statistics know of them.
func TestRowsReadOfClaims(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	const partitions = 1000
	all := make([]int, partitions)
	for i := range all {
		all[i] = i
	}
	everyEngine(t, func(t *testing.T, b *bench) {
		if b.conn.Engine != "postgres" && b.conn.Engine != "mysql" {
			t.Skip("it does not count what it reads")
		}
		if b.conn.Engine == "postgres" {
			b.exec("ALTER TABLE rowrelay_claims SET (autovacuum_enabled = off)")
		}
		b.take("me", time.Hour, all...)
		for name, do := range map[string]func(context.Context, *instance) error{
			"survey": func(ctx context.Context, i *instance) error { _, err := i.claims.Survey(ctx); return err },
			"take": func(ctx context.Context, i *instance) error {
				_, err := i.claims.Take(ctx, "me", time.Hour, true, just(all...))
				return err
			},
			"renew": func(ctx context.Context, i *instance) error {
				_, err := i.claims.Renew(ctx, "me", all, time.Hour)
				return err
			},
			"release": func(ctx context.Context, i *instance) error { return i.claims.Release(ctx, "me", all) },
			"settle published": func(ctx context.Context, i *instance) error {
				return i.rows.Settle(ctx, "me", partitions, event.Marks{Published: []event.Ref{{Seq: 1}}})
			},
			"look":   func(ctx context.Context, i *instance) error { _, err := i.rows.Look(ctx); return err },
			"owners": func(ctx context.Context, i *instance) error { _, err := i.claims.Owners(ctx); return err },
		} {
			i, r := recordedAs(t, b.conn.Engine, b.outbox, b.catalog.claims, b.claims.Place.Outbox,
				func(c *Config) { c.Partitions = partitions })
			if err := do(t.Context(), i); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for n, text := range r.Plain {
				if read := b.reads(t, text, r.Args[n]); read > 5*partitions {
					t.Errorf("%s reads %d rows\n%s\n%s", name, read, text, b.explain(text, r.Args[n]))
				}
			}
		}
	}, func(c *Config) { c.Partitions = partitions })
}

// reads runs a statement, takes back what it did, and returns how many rows it read.
func (b *bench) reads(t *testing.T, text string, args []any) (n int) {
	t.Helper()
	tx, err := b.db.Pool.BeginTx(t.Context(), nil)
	b.must(err)
	defer tx.Rollback() //nolint:errcheck // nothing is to stay
	if b.conn.Engine == "postgres" {
		return enginetest.PostgresReads(t, tx, text, args...)
	}
	before := b.handlerReads(t.Context(), tx)
	func() {
		rows, err := tx.QueryContext(t.Context(), text, args...)
		b.must(err)
		defer rows.Close() //nolint:errcheck // Err tells
		for rows.Next() {  //nolint:revive // they are read, and not looked at
		}
		b.must(rows.Err())
	}()
	return b.handlerReads(t.Context(), tx) - before
}

func (b *bench) handlerReads(ctx context.Context, tx *sql.Tx) (n int) {
	rows, err := tx.QueryContext(ctx, "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_key', 'Handler_read_next', "+
		"'Handler_read_prev', 'Handler_read_first', 'Handler_read_last')")
	b.must(err)
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var name string
		var count int
		b.must(rows.Scan(&name, &count))
		n += count
	}
	b.must(rows.Err())
	return n
}
