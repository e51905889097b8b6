package late

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
)

// TestABacklogInOrderIsReadOnce: where open transactions are not shown, but commits are counted, rows that share an
// order key are read again only when something was committed, and those of a backlog not for ever.
func TestABacklogInOrderIsReadOnce(t *testing.T) {
	const rows = 600
	for _, test := range []struct {
		name   string
		writes int // a row is written after so many pages; 0: none
		again  int // rows that may be read again
	}{
		{"nobody writes", 0, 2 * rows},
		{"a writer", 4, 6 * rows},
	} {
		t.Run(test.name, func(t *testing.T) {
			inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
				d.table.Groups, d.table.Counters = 3, 1
				d.cfg.Window = 2 * time.Minute
				d.limit.Rows = 5
				for range rows {
					d.table.NextKey++
					d.table.Put(d.table.NextKey, latetest.Row{Cursor: d.table.Draw(), Ended: 1})
				}
				source := &again{database: d.table}
				d.source = source
				d.start()
				for page := 1; len(d.delivered) < rows; page++ {
					if test.writes > 0 && page%test.writes == 0 {
						tx := d.table.Begin(time.Hour)
						d.table.Insert(tx)
						d.table.End(tx, true)
					}
					d.next()
					d.settle(1<<20, false, "")
					time.Sleep(125 * time.Millisecond)
				}
				if source.rows > test.again {
					t.Errorf("%d rows were read again beside a backlog of %d, more than %d", source.rows, rows, test.again)
				}
			})
		})
	}
}

// TestACounterOfCommitsMovesBeforeACommit: a transaction that moves the counter while it is open may have drawn its
// value long before, while it waited for the right to write.
func TestACounterOfCommitsMovesBeforeACommit(t *testing.T) {
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		d.table.Groups, d.table.Counters = 1, 1
		d.cfg.Window = 2 * time.Minute
		d.start()
		write := func() {
			tx := d.table.Begin(time.Hour)
			d.table.Insert(tx)
			d.table.End(tx, true)
		}
		pass := func(n time.Duration) {
			for range n {
				time.Sleep(time.Second)
				d.drain()
			}
		}
		write()
		pass(10)
		late := d.table.Begin(time.Hour)
		d.table.NextKey++
		key := d.table.NextKey
		pass(4)
		write()
		pass(1)
		d.table.Write(late, key, late.Drawn)
		pass(8)
		d.table.Anew(late)
		pass(2)
		d.table.End(late, true)
		write()
		pass(1)
		if d.inverted > 0 || d.last[key] == "" {
			t.Errorf("%d inverted; of the late row came %q", d.inverted, d.last[key])
		}
	})
}

// TestLateRowsComeFirstInTheNextSession: where the late rows of a page were not accepted, a session after it reads them
// again before the live rows of the page, though nothing was committed in between.
func TestLateRowsComeFirstInTheNextSession(t *testing.T) {
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		d.table.Groups, d.table.Counters = 1, 1
		d.drain()
		late, ahead := d.table.Begin(time.Hour), d.table.Begin(time.Hour)
		d.table.Insert(late)
		d.table.Insert(ahead)
		d.table.End(ahead, true)
		d.drain()
		d.table.End(late, true)
		after := d.table.Begin(time.Hour)
		d.table.Insert(after)
		d.table.End(after, true)
		for len(d.line) == 0 {
			d.next()
		}
		d.settle(0, false, "") // the session ends
		d.drain()
		if lost := d.lost(); d.inverted > 0 || len(lost) > 0 {
			t.Errorf("%d inverted, lost %v", d.inverted, lost)
		}
	})
}
