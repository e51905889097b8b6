package source

import (
	"errors"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestIdleIsNoWayAcrossAGap: the position of an idle output does not move past changes that are missing, also where the
// look for them was taken for another output's position.
func TestIdleIsNoWayAcrossAGap(t *testing.T) {
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
	fetch := func() error {
		page, err := c.Fetch(t.Context(), change.Range{After: at}, poller.Limit{Rows: 10, Bytes: 1000})
		if err == nil && page.To != nil {
			at = page.To
		}
		return err
	}
	c.ahead.at = time.Now() // the other output has looked, at its own position
	if err := fetch(); err != nil {
		t.Fatal(err) // it has not moved yet
	}
	c.idling.Every = 0 // a minute later
	for range 2 {
		if err = fetch(); err != nil {
			break
		}
	}
	if !errors.Is(err, poller.ErrGap) {
		t.Errorf("the position is %s, and the error %v", at, err)
	}
}
