package source

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// TestSharedPoolBrokenOff: a page that was broken off in the middle of large rows is of the source's own table,
// whichever table the connection read before.
func TestSharedPoolBrokenOff(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id int PRIMARY KEY, v int NOT NULL, w text)",
		"INSERT INTO o SELECT i, i, repeat('x', 10000) FROM generate_series(1, 400) i",
		"CREATE TABLE other (id int PRIMARY KEY, v int NOT NULL)", "INSERT INTO other VALUES (1, 1)")
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	shared := pool.New(conn, 1)
	t.Cleanup(func() {
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	sharing := func(table string) *Cursor {
		t.Helper()
		src, err := Sharing(shared, plan.Config{Poller: table, Table: table, Cursor: []string{"v"}})
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	own, other := sharing("o"), sharing("other")
	whole, err := own.Fetch(t.Context(), change.Range{Late: true}, everything)
	if err != nil || whole.Table == "" || whole.Numbers == "" {
		t.Fatalf("the table is %q, the numbers %q: %v", whole.Table, whole.Numbers, err)
	}
	if _, err := other.Fetch(t.Context(), change.Range{}, everything); err != nil {
		t.Fatal(err)
	}
	part, err := own.Fetch(t.Context(), change.Range{Late: true}, poller.Limit{Rows: 400, Bytes: 15_000})
	if err != nil || len(part.Events) == 0 || part.Table != whole.Table || part.Numbers != whole.Numbers {
		t.Errorf("%d rows of table %q (%q), not of %q (%q): %v", len(part.Events), part.Table, part.Numbers, whole.Table,
			whole.Numbers, err)
	}
}
