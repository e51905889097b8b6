package source

import (
	"errors"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestIdleIsNoWayAcrossAGap: a poll that finds no rows tells of changes that are missing.
func TestIdleIsNoWayAcrossAGap(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	exec := func(statements ...string) {
		t.Helper()
		for _, text := range statements {
			testenv.ExecOn(t, db, text)
		}
	}
	exec("CREATE TABLE orders (id bigint PRIMARY KEY)")
	conn := install(t, url, db, "orders")
	c, err := New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, Start: "latest"}, conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	at, _, err := c.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec("ALTER TABLE orders DISABLE TRIGGER USER", "INSERT INTO orders VALUES (1)")
	install(t, url, db, "orders")
	page, err := c.Fetch(t.Context(), change.Range{After: at}, poller.Limit{Rows: 10, Bytes: 1000})
	if !errors.Is(err, poller.ErrGap) {
		t.Errorf("%+v %v", page, err)
	}
}
