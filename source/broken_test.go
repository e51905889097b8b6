package source

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestBrokenOrderKey: a row whose order key has no form stands by itself; one whose soft-delete column has none is no
// delete, and has another id than the mended row.
func TestBrokenOrderKey(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	cfg := plan.Config{Table: "o", Cursor: []string{"v"}, OrderKey: []string{"tenant"}, Columns: []string{"id"},
		DeleteWhen: "gone", LateCommits: "overlap"}
	src := openSource(t, url, "sqlite", cfg,
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL, tenant TEXT, gone INT)",
		"INSERT INTO o VALUES (1, 1, 'a', 1), (2, 2, x'ff', 0), (3, 3, 'a', x'ff')")
	page, err := src.Fetch(t.Context(), change.Range{}, everything)
	if err != nil || len(page.Events) != 3 {
		t.Fatalf("%d rows, %v", len(page.Events), err)
	}
	for i, want := range []struct {
		orderKey string
		op       change.Op
		broken   bool
	}{{`{"tenant":"a"}`, change.Delete, false}, {`{"id":2}`, change.Upsert, true},
		{`{"tenant":"a"}`, change.Upsert, true}} {
		e := page.Events[i]
		if string(e.OrderKey) != want.orderKey || e.Op != want.op || (e.Broken != nil) != want.broken {
			t.Errorf("row %d: order key %s, %v, %v", i+1, e.OrderKey, e.Op, e.Broken)
		}
	}
	before := page.Events[2].ID
	openSource(t, url, "sqlite", cfg, "UPDATE o SET gone = 0 WHERE id = 3")
	if again, err := src.Reread(t.Context(), [][]byte{page.Events[2].Key}); err != nil || len(again) != 1 ||
		again[0].Broken != nil || again[0].ID == before {
		t.Errorf("mended: %+v, %v", again, err)
	}
}

// TestBrokenBytes: a page of rows that are too large ends where one of rows that are not would end: what they take is
// read all the same.
func TestBrokenBytes(t *testing.T) {
	t.Parallel()
	src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "o", Cursor: []string{"id"}, MaxRowBytes: 100},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, note TEXT)",
		"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 20) INSERT INTO o SELECT n, hex(zeroblob(500)) FROM s")
	page, err := src.Fetch(t.Context(), change.Range{}, poller.Limit{Rows: 100, Bytes: 3500})
	if err != nil || len(page.Events) != 3 || !page.More || page.Events[0].Broken == nil {
		t.Errorf("%d rows, more %t: %v", len(page.Events), page.More, err)
	}
	if keys, err := drain(t, src, 7); len(keys) != 20 || err != nil {
		t.Errorf("%d rows, %v", len(keys), err)
	}
}
