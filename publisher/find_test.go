package publisher_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/publisher"
)

// TestLook tells a table that `rowrelay outbox init` has made from an application's, and from none, before there are
// claims.
func TestLook(t *testing.T) {
	everyEngine(t, func(t *testing.T, w *world) {
		conn, err := engines.Parse(w.url)
		if err != nil {
			t.Fatal(err)
		}
		look := func(table string, want publisher.Found) {
			t.Helper()
			if got, err := publisher.Find(t.Context(), conn, table); err != nil || got != want {
				t.Errorf("%s: %+v, %v, want %+v", table, got, err, want)
			}
		}
		w.exec("CREATE TABLE other (id int)") // which makes the SQLite file, too
		look("outbox", publisher.Found{})
		w.exec(w.seedTable())
		look("outbox", publisher.Found{Exists: true})
		w.cfg.Table, w.cfg.ClaimsTable = "own_outbox", "own_claims"
		w.own()
		look("own_outbox", publisher.Found{Exists: true, Own: true})
		w.exec("DROP TABLE own_claims")
		look("own_outbox", publisher.Found{Exists: true, Own: true})
		if _, err := publisher.Find(t.Context(), conn, "a.b.c.d.e"); err == nil {
			t.Error("a name that is none was looked for")
		}
	})
}
