package late

import (
	"testing"
	"time"
)

// TestReplayStandsStill: while a replica replays nothing its clock goes on, and what was committed in time arrives
// late.
func TestReplayStandsStill(t *testing.T) {
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		stalled := time.Now()
		d.table.Replay = func() time.Time { return stalled }
		late := d.table.Begin(0)
		key := d.table.Insert(late) // committed on the primary at once
		d.table.Insert(d.table.Begin(0))
		d.table.End(d.table.Open[1], true) // and replayed, as what came before it in the log was
		d.ticks(200)
		if !d.doc.Checkpoint.Cursor.IsStart() {
			t.Errorf("the checkpoint moved to %s while nothing was replayed", d.doc.Checkpoint.Cursor)
		}
		d.table.End(late, true)
		d.table.Replay = time.Now
		d.ticks(60)
		if d.versions[key] != 1 || d.repeats > 0 {
			t.Errorf("the row that was replayed late was delivered %d times, %d duplicates", d.versions[key], d.repeats)
		}
		if d.doc.Checkpoint.Cursor.IsStart() {
			t.Error("the checkpoint does not move after the replay goes on")
		}
	})
}
