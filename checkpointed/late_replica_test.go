package checkpointed

import (
	"testing"
	"time"
)

// TestReplayStandsStill: while a replica replays nothing its clock goes on, and what was committed in time arrives late.
func TestReplayStandsStill(t *testing.T) {
	inLate(t, LateOverlap, 5, func(t *testing.T, d *lateDriver) {
		stalled := time.Now()
		d.table.replay = func() time.Time { return stalled }
		late := d.table.begin(0)
		key := d.table.insert(late) // committed on the primary at once
		d.table.insert(d.table.begin(0))
		d.table.end(d.table.open[1], true) // and replayed, as what came before it in the log was
		d.ticks(200)
		if !d.doc.Checkpoint.Cursor.IsStart() {
			t.Errorf("the checkpoint moved to %s while nothing was replayed", d.doc.Checkpoint.Cursor)
		}
		d.table.end(late, true)
		d.table.replay = time.Now
		d.ticks(60)
		if d.versions[key] != 1 || d.repeats > 0 {
			t.Errorf("the row that was replayed late was delivered %d times, %d duplicates", d.versions[key], d.repeats)
		}
		if d.doc.Checkpoint.Cursor.IsStart() {
			t.Error("the checkpoint does not move after the replay goes on")
		}
	})
}
