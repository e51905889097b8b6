package publisher_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
)

// TestLook tells a table that `rowrelay outbox init` has made from an application's, and from none, before there are
// claims.
func TestLook(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		conn, err := engines.Parse(w.url)
		if err != nil {
			t.Fatal(err)
		}
		look := func(table string, want publisher.Found) {
			t.Helper()
			if got, err := publisher.Find(t.Context(), conn, table); err != nil || !reflect.DeepEqual(got, want) {
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

// TestMissingIndex: MySQL's statements name their indexes, and fail without them. That is said with what adds them,
// and that is what `rowrelay outbox init` runs.
func TestMissingIndex(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		if w.engine != "mysql" {
			return // the others choose by themselves, and `rowrelay outbox init` creates what is missing
		}
		conn, err := engines.Parse(w.url)
		if err != nil {
			t.Fatal(err)
		}
		w.cfg.Table, w.cfg.ClaimsTable = "own_outbox", "own_claims"
		w.own()
		w.exec("ALTER TABLE own_outbox DROP KEY rowrelay_order, DROP KEY rowrelay_blocked")
		p := w.open()
		if _, err := p.About(t.Context()); !errors.Is(err, poller.ErrConfig) ||
			!strings.Contains(err.Error(), "rowrelay_order (state, id, bucket)") {
			t.Errorf("without two indexes: %v", err)
		}
		found, err := publisher.Find(t.Context(), conn, "own_outbox")
		if err != nil || len(found.Lacks) != 2 {
			t.Fatalf("%+v, %v", found, err)
		}
		for _, s := range found.Lacks {
			w.exec(s)
		}
		if found, err = publisher.Find(t.Context(), conn, "own_outbox"); err != nil || len(found.Lacks) > 0 {
			t.Errorf("afterwards: %+v, %v", found, err)
		}
		if _, err := p.About(t.Context()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
