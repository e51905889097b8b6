package tracking_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

var everyWithRows = tracking.Writes{Every: true, Before: true}

// tells holds what a history says from its beginning against events as text.
func (r *rig) tells(want ...string) {
	r.Helper()
	page, err := r.history().Fetch(r.Context(), change.Range{}, poller.Limit{Rows: 100, Bytes: 1 << 20})
	if err != nil {
		r.Fatal(err)
	}
	var said []string
	for i := range page.Events {
		said = append(said, fmt.Sprintf("%s %s", page.Events[i].Op, page.Events[i].Row))
	}
	if !slices.Equal(said, want) {
		r.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
}

// warnings are those of a poller of the history.
func (r *rig) warnings() string {
	r.Helper()
	src := r.history()
	d, err := src.Describe(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join(d.Warnings, " ")
}

// history is a source that tells every change.
func (r *rig) history() *source.Cursor {
	r.Helper()
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, EveryChange: true,
		BeforeImage: true}, r.conn)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = src.Close() })
	return src
}

// TestEveryChangeOfDomains: a domain may refuse a NULL, and what stands before an insert is none.
func TestEveryChangeOfDomains(t *testing.T) {
	t.Parallel()
	r := newRig(t, "postgres", "CREATE DOMAIN amount AS numeric(5,2) NOT NULL",
		"CREATE DOMAIN small AS amount CHECK (VALUE < 100)",
		`CREATE DOMAIN code AS text COLLATE "C" CHECK (VALUE IS NOT NULL)`,
		"ALTER TABLE orders ADD COLUMN s small, ADD COLUMN c code")
	r.recordEvery(everyWithRows)
	r.exec("INSERT INTO orders VALUES (1, 2, 3.5, 'x')", "UPDATE orders SET s = 4",
		"ALTER DOMAIN small ADD CHECK (VALUE > 3.7)") // which the row that is gone does not hold
	r.tells(`insert {"id":1,"v":2,"s":"3.50","c":"x"}`, `update {"id":1,"v":2,"s":"4.00","c":"x"}`)
}

// TestEveryChangeOfAny: a column of type ANY keeps a text that looks like a number in a STRICT table only.
func TestEveryChangeOfAny(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	r.exec("DROP TABLE orders", "CREATE TABLE orders (id ANY NOT NULL PRIMARY KEY, a any) STRICT")
	r.recordEvery(everyWithRows)
	r.exec("INSERT INTO orders VALUES ('007', '1e3'), (7, 1000)", "DELETE FROM orders WHERE id = 7")
	r.tells(`insert {"id":"007","a":"1e3"}`, `insert {"id":7,"a":1000}`, `delete {"id":7,"a":1000}`)
}

// TestKeysOfAny: so does a change table.
func TestKeysOfAny(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	r.exec("DROP TABLE orders", "CREATE TABLE orders (id ANY NOT NULL PRIMARY KEY) STRICT")
	r.reinstall(tracking.Writes{})
	r.exec("INSERT INTO orders VALUES ('007'), (7)", "DELETE FROM orders WHERE id = '007'")
	s, err := tracking.Look(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil || s.Rows != 2 || s.Deleted != 1 {
		t.Errorf("%d keys, %d of them gone, %v", s.Rows, s.Deleted, err)
	}
}

// TestEveryChangeOfVirtual: of a column that is computed when it is read, triggers of PostgreSQL have no value.
func TestEveryChangeOfVirtual(t *testing.T) {
	t.Parallel()
	orders := engine.Table{Name: "shop.orders", From: `"shop"."orders"`, PrimaryKey: []string{"id"},
		Columns: []engine.Column{{Name: "id"}, {Name: "twice", Computed: true, Unwatched: true}}}
	own := engine.Table{Columns: []engine.Column{{Name: "id"}, {Name: engine.HistoryWas + "id"},
		{Name: engine.HistoryChange}, {Name: engine.HistoryOperation}, {Name: engine.HistoryWritten}}}
	c, err := tracking.Of(postgres.Dialect{}, &orders, "", "orders", everyWithRows)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := tracking.Kept(&orders, &own, c)
	if said := strings.Join(kept.Warnings, " "); err != nil || !strings.Contains(said, "twice") {
		t.Errorf("%q, %v", said, err)
	}
	chosen := everyWithRows
	chosen.Columns = []string{"id", "TWICE"}
	_, err = tracking.Of(postgres.Dialect{}, &orders, "", "orders", chosen)
	if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), `"twice" is computed when it is read`) {
		t.Errorf("%v", err)
	}
}

// TestEveryChangeRefusedType: no query can stand in for a table whose changes are told.
func TestEveryChangeRefusedType(t *testing.T) {
	t.Parallel()
	r := newRig(t, "postgres", "ALTER TABLE orders ADD COLUMN a integer[]")
	r.recordEvery(everyWithRows)
	_, err := r.history().Describe(t.Context())
	if !errors.Is(err, poller.ErrConfig) || strings.Contains(err.Error(), "source__query") {
		t.Errorf("%v", err)
	}
}

// TestEveryChangeAmongTriggers: what a trigger of the user writes to the table comes after the write that it follows.
func TestEveryChangeAmongTriggers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"postgres", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			touching := []string{"CREATE TRIGGER a AFTER UPDATE ON orders WHEN NEW.v < 10 BEGIN " +
				"UPDATE orders SET v = NEW.v + 10 WHERE id = NEW.id; END"}
			if name == "postgres" {
				touching = []string{"CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN " +
					"UPDATE orders SET v = NEW.v + 10 WHERE id = NEW.id; RETURN NULL; END$$",
					"CREATE TRIGGER \"A\" AFTER UPDATE ON orders FOR EACH ROW WHEN (NEW.v < 10) EXECUTE FUNCTION touch()"}
			}
			r := newRig(t, name)
			r.recordEvery(everyWithRows)
			r.exec(touching...)
			if name == "sqlite" {
				r.exec("CREATE TRIGGER b AFTER UPDATE ON orders BEGIN SELECT 1; END")
				if said := r.warnings(); !strings.Contains(said, "fire before them (a)") {
					t.Errorf("not warned of: %q", said)
				}
				r.recordEvery(everyWithRows)
				if said := r.warnings(); said != "" {
					t.Error(said)
				}
			}
			r.exec("INSERT INTO orders VALUES (1, 1)", "UPDATE orders SET v = 2")
			r.tells(`insert {"id":1,"v":1}`, `update {"id":1,"v":2}`, `update {"id":1,"v":12}`)
		})
	}
}

// TestEveryChangeDeferrable: the order of a history is not that of keys which two rows have for a while.
func TestEveryChangeDeferrable(t *testing.T) {
	t.Parallel()
	r := newRig(t, "postgres", "ALTER TABLE orders DROP CONSTRAINT orders_pkey",
		"ALTER TABLE orders ADD PRIMARY KEY (id) DEFERRABLE")
	for _, writes := range []tracking.Writes{{}, everyWithRows} {
		s, err := tracking.Look(t.Context(), r.conn, "orders", "", "orders", writes)
		if said := strings.Join(s.Unseen, " "); err != nil || strings.Contains(said, "DEFERRABLE") != writes.Every {
			t.Errorf("every %v: %q, %v", writes.Every, said, err)
		}
	}
}
