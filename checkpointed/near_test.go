package checkpointed

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
)

// TestLateRowsAreLookedForAtOnce: rows that were delivered lately are read again in one round trip, however small a
// batch is.
func TestLateRowsAreLookedForAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Late = late.Overlap
		s.fill(1, 100)
		p := newProcess(t, nil, s, nil)
		p.tick()
		time.Sleep(100 * time.Millisecond)
		s.fill(101, 101)
		s.fetched = nil
		p.tick()
		looks := 0
		for _, r := range s.fetched {
			if !r.UpTo.IsStart() {
				looks++
			}
		}
		if looks != 1 {
			t.Errorf("%d reads of what was delivered: %v", looks, s.fetched)
		}
	})
}
