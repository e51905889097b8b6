package publisher_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestPostgresIDs: an id may be of a type that somebody made, in a schema that nobody searches, under a name that needs
// quotes. It is found again, in marks and in what failed.
func TestPostgresIDs(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		if w.engine != "postgres" {
			t.Skip("it has no such types")
		}
		for _, text := range []string{
			`CREATE SCHEMA "Other one"`, `CREATE TYPE "Other one"."State's" AS ENUM ('a', 'b')`,
			`CREATE DOMAIN "Other one".short AS varchar(10)`, `CREATE DOMAIN "Other one".shorter AS "Other one".short`,
			`CREATE TYPE plain AS ENUM ('a', 'b')`, `CREATE DOMAIN sure AS text NOT NULL`, `CREATE DOMAIN surer AS sure`,
		} {
			w.exec(text)
		}
		for _, typ := range []string{`"Other one"."State's" PRIMARY KEY`, `"Other one".short PRIMARY KEY`,
			`"Other one".shorter PRIMARY KEY`, "plain PRIMARY KEY", "surer UNIQUE"} {
			w.broker = &broker{refuse: map[string]bool{"b": true}}
			w.exec("DROP TABLE IF EXISTS outbox")
			w.exec("CREATE TABLE outbox (id " + typ + ", seq bigint NOT NULL, aggregate_id text, payload text, " +
				"published boolean NOT NULL DEFAULT FALSE)")
			w.mapped()
			w.exec("INSERT INTO outbox VALUES ('a', 1, 'a', 'a'), ('b', 2, 'b', 'b')")
			p := w.open()
			if r := w.tick(p); r.Err != nil {
				t.Errorf("%s: %v", typ, r.Err)
			}
			if s := w.states(p); s[event.Published] != 1 || s[event.Failed] != 1 {
				t.Errorf("%s: %v", typ, s)
			}
			w.broker.will(false, "b")
			w.until(p, "the other is sent, too", func() bool { return w.states(p)[event.Published] == 2 })
		}
	})
}
