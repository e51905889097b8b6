package source

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestOneIDHasOneBody: with source__changed a row that was told is met again within the late window after a write that
// does not count. It is known by the write that counts, but its body is another, and so is its id: a receiver may
// refuse an Idempotency-Key that comes with another body.
func TestOneIDHasOneBody(t *testing.T) {
	t.Parallel()
	url := testenv.MySQL(t)
	db := testenv.Open(t, "mysql", testenv.MySQLDSN(t, url))
	testenv.Exec(t, db, "CREATE TABLE o (id int NOT NULL PRIMARY KEY, v int, note int)")
	changed := []string{"v"}
	install(t, url, db, "o", changed...)
	src := newSource(t, url, plan.Config{Poller: "o", Table: "o", Tracked: true, Changed: changed})
	after := func(statement string) change.Event {
		t.Helper()
		testenv.Exec(t, db, statement)
		page, err := src.Fetch(t.Context(), change.Range{}, everything)
		if err != nil || len(page.Events) != 1 {
			t.Fatalf("%d events, %v", len(page.Events), err)
		}
		return page.Events[0]
	}
	told := after("INSERT INTO o VALUES (1, 1, 1)")
	met := after("UPDATE o SET note = 2")
	if met.ID == told.ID || met.Known() != told.Known() {
		t.Errorf("another column: id %s and %s, known by %s and %s", told.ID, met.ID, told.Known(), met.Known())
	}
	if counts := after("UPDATE o SET v = 2"); counts.Known() == told.Known() || counts.ID == met.ID {
		t.Errorf("the column: id %s, known by %s", counts.ID, counts.Known())
	}
}
