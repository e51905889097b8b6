package source

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestSQLServerWatermark: a row that commits behind a later one is not passed over. The writer's first row takes the
// lower rowversion, and commits last.
func TestSQLServerWatermark(t *testing.T) {
	t.Parallel()
	url := testenv.SQLServer(t)
	db := writer(t, "sqlserver", url,
		"CREATE TABLE o (id int NOT NULL PRIMARY KEY, note varchar(10), rv rowversion NOT NULL)",
		"INSERT INTO o (id) VALUES (1)")
	exact := newSource(t, url, plan.Config{Table: "o", Cursor: []string{"rv"}})
	naive := newSource(t, url, plan.Config{Table: "o", Cursor: []string{"rv"}, LateCommits: "none"})
	d, err := exact.Describe(t.Context())
	if err != nil || d.Late != late.Exact {
		t.Fatalf("%+v %v", d, err)
	}
	first, last := fetchAll(t, exact, change.Range{}, 10)
	if rowKeys(first) != idKeys(1) || aboveSafe(t, exact, last) != "" {
		t.Fatalf("%s, above the safe point %s: %s", rowKeys(first), last.Safe, aboveSafe(t, exact, last))
	}
	at := first[0].Position()

	few := newSource(t, url, plan.Config{Table: "o", Cursor: []string{"rv"}, Where: "id = 2"})
	late := testenv.Begin(t, db, "INSERT INTO o (id) VALUES (2)")
	testenv.Exec(t, db, "INSERT INTO o (id) VALUES (3)")
	held, last := fetchAll(t, exact, change.Range{After: at}, 10)
	if len(held) != 0 || last.Safe == nil {
		t.Fatalf("while a lower rowversion is open: %s, safe %s", rowKeys(held), last.Safe)
	}
	// The safe point is a position: what is above it can be seen, and what is at it is not lost.
	if above := aboveSafe(t, exact, last); above != idKeys(3) {
		t.Errorf("above the safe point: %s", above)
	}
	passed, _ := fetchAll(t, naive, change.Range{After: at}, 10)
	if rowKeys(passed) != idKeys(3) {
		t.Errorf("without the watermark: %s", rowKeys(passed))
	}
	// Nor does a condition that few rows meet pass it.
	none, short := fetchAll(t, few, change.Range{After: at}, 10)
	if reached := short.End(); len(none) != 0 || reached != nil {
		t.Fatalf("while a lower rowversion is open: %s, %s", rowKeys(none), reached)
	}
	testenv.Commit(t, late)
	if got, _ := fetchAll(t, few, change.Range{After: at}, 10); rowKeys(got) != idKeys(2) {
		t.Errorf("of few rows: %s", rowKeys(got))
	}
	for from, c := range map[string]change.Cursor{"the position": at, "the safe point": last.Safe} {
		if got, last := fetchAll(t, exact, change.Range{After: c}, 1); rowKeys(got) != idKeys(2, 3) ||
			aboveSafe(t, exact, last) != "" {
			t.Errorf("after the commit, from %s: %s, safe %s", from, rowKeys(got), last.Safe)
		}
	}
	// The loss that the watermark prevents: without it, row 2 is never seen.
	if lost, _ := fetchAll(t, naive, change.Range{After: passed[0].Position()}, 10); len(lost) != 0 {
		t.Errorf("without the watermark row 2 should be lost, or this test proves nothing: %s", rowKeys(lost))
	}
	// rolled back: nothing is held back by it any more.
	rolled := testenv.Begin(t, db, "UPDATE o SET note = 'x' WHERE id = 2")
	if err := rolled.Rollback(); err != nil {
		t.Fatal(err)
	}
	testenv.Exec(t, db, "UPDATE o SET note = 'y' WHERE id = 1")
	if got, _ := fetchAll(t, exact, change.Range{After: at}, 10); rowKeys(got) != idKeys(2, 3, 1) {
		t.Errorf("after a rollback: %s", rowKeys(got))
	}
}

// aboveSafe are the keys of the rows above a page's safe point; none where there is no such point.
func aboveSafe(t *testing.T, src *Cursor, page change.Page) string {
	t.Helper()
	if page.Safe == nil {
		return ""
	}
	events, peek := fetchAll(t, src, change.Range{After: page.Safe, Unsafe: true}, 10)
	if peek.Safe != nil {
		t.Errorf("a look above the safe point reports one: %s", peek.Safe)
	}
	return rowKeys(events)
}
