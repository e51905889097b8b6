package main

import (
	"slices"
	"testing"
)

// TestPurgeKeepsAParkedRowThatChanged: a row waits for its next attempt, and another behind it. The first was changed
// since, which settled without being sent: it stays parked, and goes first.
func TestPurgeKeepsAParkedRowThatChanged(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__source__order_key"] = "note"
	s.settings["pollers__orders__source__late_commits"] = "overlap"
	s.receiver(`"id":2`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')`)
	s.tick()
	s.execute(`INSERT INTO orders VALUES (4, 4, 'b')`)
	s.execute(`UPDATE orders SET changed = 5 WHERE id = 2`)
	s.tick()
	parked := func() (rows []string) {
		side, _ := s.page()
		d := ordersDocument(t, side.Operator)
		shown, err := d.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range shown.Parked {
			rows = append(rows, string(e.Key))
			for _, f := range e.Followers {
				rows = append(rows, string(f))
			}
		}
		return rows
	}
	want := []string{`{"id":2}`, `{"id":4}`}
	if got := parked(); !slices.Equal(got, want) {
		t.Fatalf("parked are %q", got)
	}
	s.must("deadletter", "purge", "orders", "--parked", "--yes")
	if got := parked(); !slices.Equal(got, want) {
		t.Errorf("after the purge, parked are %q", got)
	}
	s.receiver("", false)
	s.tick()
	if got := parked(); len(got) > 0 {
		t.Errorf("in the end, parked are %q", got)
	}
}
