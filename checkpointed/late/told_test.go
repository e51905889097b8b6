package late

import (
	"testing"
	"time"
)

// TestIdleTellsWhatWasTold: once the window has closed and no row is beyond the low edge, all below it counts as told.
// Else what is written next to an old row would be told with what was told of it long ago.
func TestIdleTellsWhatWasTold(t *testing.T) {
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		d.drain()
		if d.quiet(5 * time.Minute); d.late.low.IsStart() || !d.late.low.Equal(d.late.front) {
			t.Fatalf("the window is open: from %s to %s", d.late.low, d.late.front)
		}
		d.drain()
		if !d.late.told.Equal(d.late.low) {
			t.Errorf("told up to %s, and the low edge is %s", d.late.told, d.late.low)
		}
	})
}
