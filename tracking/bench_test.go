package tracking_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

var everyEngine = []string{"postgres", "sqlite", "mysql"}

// plain makes the same table without triggers, with a cursor that is as exact as the engine has one.
func (r *rig) plain(engine string) {
	switch engine {
	case "postgres":
		r.exec("CREATE TABLE plain (id bigint PRIMARY KEY, v bigint NOT NULL, x xid8 NOT NULL DEFAULT pg_current_xact_id())",
			"CREATE INDEX ON plain (x, id)")
	case "sqlite":
		r.exec("CREATE TABLE plain (id INTEGER PRIMARY KEY AUTOINCREMENT, v bigint NOT NULL)")
	default:
		r.exec("CREATE TABLE plain (id bigint NOT NULL PRIMARY KEY, v bigint NOT NULL, " +
			"x datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), KEY (x, id))")
	}
	r.exec("CREATE TABLE bare (id bigint NOT NULL PRIMARY KEY, v bigint NOT NULL)")
}

// BenchmarkWrite is what the triggers cost a writer: a transaction of one row, and a statement of a thousand, on a
// table without triggers, on one with a change table, and on one with a history that has the row before, too.
func BenchmarkWrite(b *testing.B) {
	for _, engine := range everyEngine {
		r := newRig(b, engine)
		r.plain(engine)
		for _, table := range []string{"bare", "orders", "history"} {
			kept := table
			if table == "history" {
				r.recordEvery(tracking.Writes{Every: true, Before: true})
				table = "orders"
			}
			b.Run(engine+"/"+kept+"/insert", func(b *testing.B) {
				r.exec("DELETE FROM " + table)
				for n := range b.N {
					r.exec(fmt.Sprintf("INSERT INTO %s (id, v) VALUES (%d, 1)", table, n))
				}
			})
			r.exec("DELETE FROM " + table)
			r.fill(table, 1000)
			b.Run(engine+"/"+kept+"/update", func(b *testing.B) {
				for n := range b.N {
					r.exec(fmt.Sprintf("UPDATE %s SET v = v + 1 WHERE id = %d", table, n%1000))
				}
			})
			b.Run(engine+"/"+kept+"/thousand", func(b *testing.B) {
				for range b.N {
					r.exec(fmt.Sprintf("UPDATE %s SET v = v + 1", table))
				}
			})
		}
	}
}

// fill inserts rows, a thousand in each statement.
func (r *rig) fill(table string, rows int) {
	for n := 0; n < rows; n += 1000 {
		values := ""
		for i := n; i < n+1000; i++ {
			if i > n {
				values += ", "
			}
			values += fmt.Sprintf("(%d, 1)", i+1)
		}
		r.exec("INSERT INTO " + table + " (id, v) VALUES " + values)
	}
}

// BenchmarkPoll is an idle poll, and a page of 500 rows, of a cursor and of a change table with 100,000 rows each, or
// ROWRELAY_BENCH_ROWS.
func BenchmarkPoll(b *testing.B) {
	rows := 100_000
	if text := os.Getenv("ROWRELAY_BENCH_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, engine := range everyEngine {
		r := newRig(b, engine)
		r.plain(engine)
		r.fill("orders", rows)
		r.fill("plain", rows)
		switch engine {
		case "postgres":
			r.exec("VACUUM ANALYZE")
		case "mysql":
			r.exec("ANALYZE TABLE orders, plain, rowrelay_changes_orders")
		}
		cursor := plan.Config{Poller: "p", Table: "plain", Cursor: []string{"x"}}
		if engine == "sqlite" {
			cursor.Cursor = []string{"id"}
		}
		for name, cfg := range map[string]plan.Config{"cursor": cursor,
			"changes": {Poller: "p", Table: "orders", Tracked: true}} {
			src, err := source.New(cfg, r.conn)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = src.Close() }()
			at, _, err := src.Start(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			limit := poller.Limit{Rows: 500, Bytes: 8 << 20}
			next := func(p change.Page, at change.Cursor) change.Cursor {
				if p.To != nil {
					return p.To
				}
				if n := len(p.Events); n > 0 {
					return p.Events[n-1].Position()
				}
				return at
			}
			fetch := func(b *testing.B, at change.Cursor) change.Page {
				p, err := src.Fetch(b.Context(), change.Range{After: at}, limit)
				if err != nil {
					b.Fatal(err)
				}
				return p
			}
			b.Run(engine+"/"+name+"/page", func(b *testing.B) {
				place := at
				for range b.N {
					p := fetch(b, place)
					if place = next(p, place); len(p.Events) == 0 {
						place = at
					}
				}
			})
			latest := cfg
			latest.Start = "latest"
			if src, err = source.New(latest, r.conn); err != nil {
				b.Fatal(err)
			}
			defer func() { _ = src.Close() }()
			if at, _, err = src.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			for p := fetch(b, at); ; p = fetch(b, at) { // what begins anew has a few pages to read
				if at = next(p, at); len(p.Events) == 0 && !p.More {
					break
				}
			}
			b.Run(engine+"/"+name+"/idle", func(b *testing.B) {
				for range b.N {
					fetch(b, at)
				}
			})
		}
	}
}
