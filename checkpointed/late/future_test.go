package late

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// dated drives a table whose cursor is the database's wall clock in milliseconds.
type dated struct {
	*driver
	putBack time.Time // until then the wall clock is an hour ahead of UTC
}

func inDated(t *testing.T, mode Mode, rule FutureRows, f func(t *testing.T, d *dated)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		d := &dated{driver: newDriver(t, latetest.New(rng), rng, mode)}
		d.dates = &Dates{Span: d.span, Before: d.before}
		d.cfg.Future = rule
		d.start()
		f(t, d)
	})
}

func (d *dated) now() time.Time { return time.Now().Add(d.table.Skew) }

func (d *dated) span(c change.Cursor) (first, last time.Time, ok bool) {
	p := latetest.PositionOf(c)
	if p.Key == 0 {
		return first, last, false
	}
	first = time.UnixMilli(p.Value)
	last = first
	if first.Before(d.putBack.Add(time.Hour)) {
		first = first.Add(-time.Hour)
	}
	if last.Before(d.putBack) {
		last = first
	}
	return first, last, true
}

// wall is what the wall clock shows.
func (d *dated) wall(at time.Time) int64 {
	if at.Before(d.putBack) {
		at = at.Add(time.Hour)
	}
	return at.UnixMilli()
}

func (d *dated) before(at time.Time) change.Cursor {
	lowest := d.wall(at)
	if at.Before(d.putBack) {
		lowest = min(lowest, d.putBack.UnixMilli())
	}
	return latetest.Position{Kind: "test", Value: lowest - 1, Key: 0}.Cursor()
}

// put writes a row that is dated so long after now, and returns its key.
func (d *dated) put(ahead time.Duration) int {
	d.table.NextKey++
	d.table.Put(d.table.NextKey, latetest.Row{Cursor: d.wall(d.now().Add(ahead)), Text: "row"})
	return d.table.NextKey
}

// writes writes a row each second, with a tick after each.
func (d *dated) writes(n int) {
	d.t.Helper()
	for range n {
		d.put(0)
		d.drain()
		time.Sleep(time.Second)
	}
}

// TestFutureRow: a row that is dated ahead is delivered once, or held, and hides no row that is written after it: not
// after a crash, not when the clock has passed it.
func TestFutureRow(t *testing.T) {
	quick.Skip(t)
	for _, mode := range []Mode{Overlap, None} {
		for _, rule := range []FutureRows{FutureDeliver, FutureHold, FutureFail} {
			for _, ahead := range []time.Duration{10 * time.Minute, 365 * 24 * time.Hour} {
				t.Run(fmt.Sprint(mode, " ", rule, " ", ahead), func(t *testing.T) {
					inDated(t, mode, rule, func(t *testing.T, d *dated) { futureRow(t, d, ahead) })
				})
			}
		}
	}
}

func futureRow(t *testing.T, d *dated, ahead time.Duration) {
	d.writes(3)
	early := d.put(ahead)
	d.writes(10)
	if got := d.versions[early]; got > 1 || (got == 1) != (d.cfg.Future == FutureDeliver) {
		t.Errorf("the row that is dated %s ahead was delivered %d times", ahead, got)
	}
	if (d.refused != nil) != (d.cfg.Future == FutureFail) {
		t.Errorf("refused: %v", d.refused)
	}
	if text := strings.Join(d.warned, "\n"); d.cfg.Future != FutureFail &&
		!strings.Contains(text, "source__future_rows="+string(d.cfg.Future)) {
		t.Errorf("it is not told: %s", text)
	}
	d.crash()
	d.writes(60) // more than a window
	d.crash()
	second := d.put(ahead + time.Minute)
	d.writes(60)
	d.ticks(60)
	fetches := d.table.Fetches
	d.ticks(60)
	if n := d.table.Fetches - fetches; n > 150 {
		t.Errorf("60 idle ticks made %d fetches", n)
	}
	if d.cfg.Future == FutureDeliver && d.versions[second] != 1 {
		t.Errorf("another one was delivered %d times", d.versions[second])
	}
	for key := range d.table.Rows {
		if key != early && key != second && d.versions[key] == 0 {
			t.Errorf("row %d of %d was not delivered", key, len(d.table.Rows))
		}
	}
	if ahead < time.Hour {
		for range int(ahead/time.Second) + 120 {
			d.writes(1)
		}
		if lost := d.lost(); len(lost) > 0 {
			t.Errorf("%d rows lost: %v", len(lost), lost)
		}
		d.quiet(time.Minute)
		if d.late.remembered.len() > 0 {
			t.Errorf("%d rows are remembered although the clock has passed all", d.late.remembered.len())
		}
	}
	if n := d.versions[early]; n > 1 {
		t.Errorf("the row that was dated ahead was delivered %d times", n)
	}
	if d.mode == Overlap && d.repeats > 0 {
		t.Errorf("%d duplicates, although all was stored before each crash", d.repeats)
	}
}

// TestManyFutureRows: they take half of the memory at most, and live rows are not held back by them.
func TestManyFutureRows(t *testing.T) {
	quick.Skip(t)
	inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
		d.cfg.Memory = 40
		d.start()
		for i := range 50 {
			d.put(time.Hour + time.Duration(i)*time.Second)
		}
		d.writes(15)
		early := 0
		for key := range 50 {
			early += d.versions[key+1]
		}
		if early != 20 || len(d.delivered) != 35 {
			t.Errorf("%d rows that are dated ahead were delivered, %d in all", early, len(d.delivered))
		}
		for range 80 {
			d.ticks(60)
		}
		if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
			t.Errorf("%d lost, %d duplicates after the clock has passed all", len(lost), d.repeats)
		}
	})
}

// TestFutureRowThatIsCorrected: what is corrected, or deleted, is forgotten.
func TestFutureRowThatIsCorrected(t *testing.T) {
	inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
		wrong, gone := d.put(time.Hour), d.put(2*time.Hour)
		d.writes(5)
		d.table.Put(wrong, latetest.Row{Cursor: d.wall(d.now()), Text: "right"})
		d.table.Remove(gone)
		d.writes(5)
		d.quiet(time.Hour)
		if d.versions[wrong] != 2 || d.versions[gone] != 1 || d.late.remembered.len() != 0 {
			t.Errorf("delivered %d and %d times, %d remembered", d.versions[wrong], d.versions[gone], d.late.remembered.len())
		}
	})
}

// TestClockFalls: rows that are written by a clock that was set back are below the position.
func TestClockFalls(t *testing.T) {
	quick.Skip(t)
	for _, mode := range []Mode{Overlap, None} {
		for _, fall := range []time.Duration{20 * time.Second, 2 * time.Minute, time.Hour} {
			t.Run(fmt.Sprint(mode, " ", fall), func(t *testing.T) {
				inDated(t, mode, FutureDeliver, func(t *testing.T, d *dated) {
					d.writes(100)
					d.table.Skew -= fall
					d.writes(200)
					d.quiet(2 * time.Hour)
					lost := len(d.lost())
					if lost > 0 {
						t.Errorf("%d rows lost", lost)
					}
					if text := strings.Join(d.warned, "\n"); !strings.Contains(text, "clock") {
						t.Errorf("it is not told: %s", text)
					}
					if mode == Overlap && fall < d.cfg.Window && d.repeats > 0 {
						t.Errorf("%d duplicates, although the window bridges the fall", d.repeats)
					}
				})
			})
		}
	}
}

// TestPositionAhead: a position that a future row has moved, by an older binary, goes back to the clock.
func TestPositionAhead(t *testing.T) {
	for _, mode := range []Mode{Overlap, None} {
		inDated(t, mode, FutureDeliver, func(t *testing.T, d *dated) {
			early := d.put(365 * 24 * time.Hour)
			d.doc.Late.Mode = string(mode)
			d.doc.Checkpoint.Cursor = d.table.Event(early, d.table.Rows[early]).Cursor
			d.doc.Late.Frontier = d.doc.Checkpoint.Cursor
			d.crash()
			d.writes(60)
			if lost := d.lost(); len(lost) > 0 {
				t.Errorf("%s: %d rows lost, %v", mode, len(lost), lost)
			}
		})
	}
}

// TestWallClockPutBack: in the hour that comes twice rows stand below those of the hour before.
func TestWallClockPutBack(t *testing.T) {
	quick.Skip(t)
	for _, crashes := range []bool{false, true} {
		inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
			d.putBack = d.now().Add(50 * time.Minute)
			for i := range 3 * 3600 / 20 {
				d.put(0)
				d.drain()
				time.Sleep(20 * time.Second)
				if crashes && i%31 == 0 {
					d.crash()
				}
			}
			d.quiet(3 * time.Hour)
			if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
				t.Errorf("crashes %v: %d of %d rows lost, %d duplicates", crashes, len(lost), len(d.table.Rows), d.repeats)
			}
			if d.late.remembered.len() > 0 {
				t.Errorf("%d rows are remembered hours later", d.late.remembered.len())
			}
		})
	}
}

// TestManyFutureRowsComeOnce: rows whose time comes between two ticks are delivered once, and a page that ends at a row
// that was dated ahead does not say that the source is drained.
func TestManyFutureRowsComeOnce(t *testing.T) {
	for _, mode := range []Mode{Overlap, None} {
		for _, rule := range []FutureRows{FutureDeliver, FutureHold} {
			inDated(t, mode, rule, func(t *testing.T, d *dated) {
				d.writes(3)
				var rows []int
				for i := range 200 {
					rows = append(rows, d.put(5*time.Minute+time.Duration(i)*time.Millisecond))
				}
				d.ticks(1)
				time.Sleep(10 * time.Minute)
				d.drain()
				for _, k := range rows {
					if n := d.versions[k]; n != 1 {
						t.Fatalf("%s, %s: row %d was delivered %d times", mode, rule, k, n)
					}
				}
			})
		}
	}
}

// TestFutureRowComesOnceWhenItsTimeComes: however far the ticks lie apart.
func TestFutureRowComesOnceWhenItsTimeComes(t *testing.T) {
	for _, mode := range []Mode{Overlap, None} {
		for _, gap := range []time.Duration{time.Second, 20 * time.Second, time.Minute} {
			inDated(t, mode, FutureDeliver, func(t *testing.T, d *dated) {
				d.writes(3)
				var rows []int
				for i := range 5 {
					rows = append(rows, d.put(5*time.Minute+time.Duration(i)*time.Second))
				}
				for begun := time.Now(); time.Since(begun) < 20*time.Minute; time.Sleep(gap) {
					d.ticks(1)
				}
				for _, k := range rows {
					if n := d.versions[k]; n != 1 {
						t.Errorf("%s, a tick every %s: row %d was delivered %d times", mode, gap, k, n)
					}
				}
			})
		}
	}
}

// TestClockFallsWhileTheMemoryIsFull: what is remembered lies above the position that has gone back, where no sweep
// meets it.
func TestClockFallsWhileTheMemoryIsFull(t *testing.T) {
	for _, most := range []int{10, 40} {
		inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
			d.late.Memory = most
			for d.late.remembered.len() < most {
				d.put(0)
				d.ticks(1)
			}
			d.table.Skew -= time.Hour
			d.writes(100)
			d.quiet(2 * time.Hour)
			if lost := d.lost(); len(lost) > 0 {
				t.Errorf("with room for %d, %d of %d rows never came", most, len(lost), len(d.table.Rows))
			}
		})
	}
}

// TestFullMemoryAfterARestart: the rows of a memory that is full have all been changed since, so that no sweep meets
// them. A new process must not take them for rows that are dated ahead for as long as it has no room to look.
func TestFullMemoryAfterARestart(t *testing.T) {
	inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
		d.late.Memory, d.cfg.Memory = 10, 10
		for range 40 {
			d.put(0)
			time.Sleep(10 * time.Millisecond)
		}
		d.drain()
		for key := range d.table.Rows {
			if d.versions[key] > 0 {
				time.Sleep(10 * time.Millisecond)
				d.table.Put(key, latetest.Row{Cursor: d.wall(d.now()), Text: "changed"})
			}
		}
		if n := d.late.remembered.len(); n < 10 {
			t.Fatalf("%d rows are remembered", n)
		}
		d.crash()
		d.quiet(10 * time.Minute)
		if lost := d.lost(); len(lost) > 0 {
			t.Errorf("%d of %d rows never came", len(lost), len(d.table.Rows))
		}
	})
}

// TestFutureRowLeftOut: rows that are dated ahead are not passed where the source leaves out the page's last rows, and
// says so by a position after the page.
func TestFutureRowLeftOut(t *testing.T) {
	inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
		d.writes(1)
		for _, delivered := range []bool{true, false} {
			first := d.late.Position()
			step := Step{Kind: change.Live, Range: change.Range{After: first}}
			page := change.Page{To: latetest.Position{Kind: "test", Value: d.wall(d.now().Add(2 * time.Hour)), Key: 99}.Cursor()}
			if delivered {
				page.Events = []change.Event{d.table.Event(98, latetest.Row{Cursor: d.wall(d.now().Add(time.Hour)), Text: "row"})}
			}
			batch, err := d.late.Fetched(step, &page)
			if err != nil || batch.To != nil || !d.late.Position().Equal(first) {
				t.Errorf("delivered %t: the position is %s, and was %s (%s, %v)", delivered, d.late.Position(), first, batch.To,
					err)
			}
		}
	})
}
