package admin

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
)

// TestNeeded: a document needs changes from its position, from its parked events, and of rows that wait for these, or
// are parked without a position.
func TestNeeded(t *testing.T) {
	f := newFixture(t)
	if needs, err := f.document(f.Store, "stock").Needed(t.Context()); err != nil || needs != nil {
		t.Errorf("without a document: %+v, %v", needs, err)
	}
	parked := parking.Entry{ID: "e1", Cursor: change.Cursor(`{"kind":"test","value":3}`), Key: keyOf(1),
		OrderKey: keyOf(1)}
	f.parks(parked)
	needs, err := f.Needed(t.Context())
	if err != nil || !needs.At.Equal(f.doc().Checkpoint.Cursor) || len(needs.Parked) != 1 ||
		!needs.Parked[0].Equal(parked.Cursor) || len(needs.Waiting) > 0 {
		t.Errorf("%+v, %v", needs, err)
	}
	parked.Followers = rawKeys(2)
	for _, c := range []struct {
		entry  parking.Entry
		parked int
	}{{parked, 1}, {parking.Entry{Key: keyOf(2), OrderKey: keyOf(2)}, 0}} {
		f.parks(c.entry)
		needs, err = f.Needed(t.Context())
		if err != nil || len(needs.Parked) != c.parked || len(needs.Waiting) != 1 ||
			string(needs.Waiting[0]) != string(keyOf(2)) {
			t.Errorf("%s: %+v, %v", c.entry.Key, needs, err)
		}
	}
}
