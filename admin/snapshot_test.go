package admin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// TestResetToASnapshot: the position stays where changes can be read on from there, so that no delete is passed over;
// where they cannot, it moves, and the plan says what is not told of.
func TestResetToASnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(*fixture)
		at      int
		says    string
	}{
		"as it is": {func(*fixture) {}, 5, "beside the changes after " + string(at(5))},
		"a gap": {func(f *fixture) { f.table.ahead = fmt.Errorf("%w: purged", poller.ErrGap) }, 10,
			"will NOT be told of"},
		"another database":   {func(f *fixture) { f.table.incarnation = "db2" }, 10, "will NOT be told of"},
		"another definition": {func(f *fixture) { f.table.now.Fingerprint = "sha256:2" }, 10, "it is accepted"},
		"beside another": {func(f *fixture) { f.run(state.Backfill{ID: "old", To: at(3), Total: 3}) }, 5,
			"The backfill will be stopped: old"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			c.happens(f)
			m, err := f.Reset(t.Context(), &Reset{To: "snapshot"})
			if err != nil || !strings.Contains(m.What, "Every row of the table (about 10)") ||
				!strings.Contains(m.What, c.says) {
				t.Fatalf("%v: %s", err, m.What)
			}
			f.apply(&m.Plan, nil)
			doc := f.doc()
			if b := doc.Backfill; b == nil || !b.Whole || b.ID == "old" || number(b.To) != 10 || b.Total != 10 || b.By != "ann" {
				t.Errorf("%+v", b)
			}
			if number(doc.Checkpoint.Cursor) != c.at || len(doc.Skips) > 0 || doc.SourceFingerprint != f.table.now.Fingerprint {
				t.Errorf("position %s, %+v", doc.Checkpoint.Cursor, doc.Skips)
			}
			stop, err := f.StopBackfill(t.Context())
			if err != nil || !strings.Contains(stop.What, "snapshot of the whole table") ||
				!strings.Contains(stop.What, "told of when they change") {
				t.Errorf("%v: %s", err, stop.What)
			}
		})
	}
}

// TestCloneOfASnapshot: the clone goes on with the rows that it has not got; a backfill is the other's.
func TestCloneOfASnapshot(t *testing.T) {
	for _, whole := range []bool{true, false} {
		f := newFixture(t)
		f.run(state.Backfill{ID: "one", Whole: whole, To: at(10), At: at(4), Done: 4, Total: 10})
		other := f.document(memstore.New(), "copy")
		p, err := f.Clone(t.Context(), "orders", other, "copy")
		f.apply(p, err)
		snap, err := other.Keeper.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b := snap.Doc.Backfill; (b != nil) != whole || whole && (number(b.At) != 4 || !b.Whole) {
			t.Errorf("whole %t: %+v", whole, b)
		}
	}
}

// TestExportDuringASnapshot: the rows that it has not sent are after no position.
func TestExportDuringASnapshot(t *testing.T) {
	for _, whole := range []bool{true, false} {
		f := newFixture(t)
		f.run(state.Backfill{ID: "one", Whole: whole, To: at(10), At: at(4), Done: 4, Total: 10})
		x, err := f.Export(t.Context())
		if err != nil || strings.Contains(x.Missing(), "snapshot of the table was under way (one)") != whole {
			t.Errorf("whole %t: %+v, %v", whole, x, err)
		}
	}
}

// run puts a backfill into the document.
func (f *fixture) run(b state.Backfill) {
	f.t.Helper()
	if _, err := f.Keeper.Amend(f.t.Context(), func(d *state.Document) error { d.Backfill = &b; return nil }); err != nil {
		f.t.Fatal(err)
	}
}
