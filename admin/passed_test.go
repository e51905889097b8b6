package admin

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
)

// TestNeeded: a document needs changes from its position, and from its parked events; of a row that waits for a parked
// one nobody knows from where.
func TestNeeded(t *testing.T) {
	f := newFixture(t)
	if positions, err := f.document(f.Store, "stock").Needed(t.Context()); err != nil || len(positions) > 0 {
		t.Errorf("without a document: %s, %v", positions, err)
	}
	parked := parking.Entry{ID: "e1", Cursor: change.Cursor(`{"kind":"test","value":3}`), Key: keyOf(1),
		OrderKey: keyOf(1)}
	f.parks(parked)
	positions, err := f.Needed(t.Context())
	if err != nil || len(positions) != 2 || !positions[0].Equal(f.doc().Checkpoint.Cursor) ||
		!positions[1].Equal(parked.Cursor) {
		t.Errorf("%s, %v", positions, err)
	}
	parked.Followers = rawKeys(2)
	for _, unknown := range []parking.Entry{parked, {Key: keyOf(2), OrderKey: keyOf(2)}} {
		f.parks(unknown)
		if _, err = f.Needed(t.Context()); err == nil || !strings.Contains(err.Error(), "rows wait for the parked row") {
			t.Errorf("%s: %v", unknown.Key, err)
		}
	}
}
