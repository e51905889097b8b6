package late

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// TestACrashCostsTheBatchesInFlight: what is settled is stored with its batch, in the document, and the object of the
// memory is written now and then; also when a sweep has forgotten something.
func TestACrashCostsTheBatchesInFlight(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		inLate(t, Overlap, 200, func(t *testing.T, d *driver) {
			d.next()
			d.settle(1<<20, false, "") // the first choice is stored
			if forgets {
				d.late.remembered.forgotten++
			}
			for d.next() {
				for len(d.line) > 1 {
					time.Sleep(journalEvery)
					d.settle(1<<20, false, "")
				}
				if len(d.delivered) >= 150 {
					break
				}
			}
			if d.puts > 0 {
				t.Errorf("%d objects were written", d.puts)
			}
			d.crash()
			d.ticks(5)
			if lost := d.lost(); len(lost) > 0 || d.repeats > d.limit.Rows {
				t.Errorf("lost %v, %d duplicates", lost, d.repeats)
			}
		})
	}
}

// TestAJournalOfOtherPositions: a binary that does not know the journal moves the position and leaves it as it was.
func TestAJournalOfOtherPositions(t *testing.T) {
	inLate(t, Overlap, 20, func(t *testing.T, d *driver) {
		d.ticks(1)
		if d.doc.Late.Journal.Hashes == "" {
			t.Fatal("there is no journal")
		}
		d.doc.Late.Frontier, d.doc.Late.Next = nil, nil // a reset to the beginning
		d.crash()
		d.ticks(1)
		if d.repeats != 20 {
			t.Errorf("%d rows came again", d.repeats)
		}
	})
}

// TestTheJournalEndsInAnObject: the document takes so much and no more.
func TestTheJournalEndsInAnObject(t *testing.T) {
	quick.Skip(t)
	inLate(t, Overlap, 0, func(t *testing.T, d *driver) {
		d.limit.Rows = 500
		for range 3 {
			for range journalMost / 2 {
				d.table.NextKey++
				d.table.Rows[d.table.NextKey] = latetest.Row{Cursor: d.table.Draw(), Text: fmt.Sprint("row ", d.table.NextKey)}
			}
			d.ticks(1)
			if n := len(d.doc.Late.Journal.Hashes); n > 4*8*journalMost/3+4 {
				t.Errorf("the journal has %d bytes", n)
			}
		}
		if d.puts == 0 || d.puts > 2 {
			t.Errorf("%d objects were written", d.puts)
		}
		d.crash()
		d.ticks(1)
		if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
			t.Errorf("lost %v, %d duplicates", lost, d.repeats)
		}
	})
}
