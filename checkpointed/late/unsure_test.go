package late

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/poller"
)

// slowDatabase takes its time to read the clock, to answer with it, and to answer with a page.
type slowDatabase struct {
	*latetest.Table
	clockRead, clockAnswer, pageAnswer time.Duration
	answering                          func() // while a page is on its way
}

func (s *slowDatabase) Horizon(ctx context.Context) (change.Horizon, error) {
	time.Sleep(s.clockRead)
	h, err := s.Table.Horizon(ctx)
	time.Sleep(s.clockAnswer)
	return h, err
}

func (s *slowDatabase) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	page, err := s.Table.Fetch(ctx, r, limit)
	if s.answering != nil {
		s.answering()
	}
	time.Sleep(s.pageAnswer)
	return page, err
}

// inSlow runs a test of none over a slow database, whose clock is read at the beginning.
func inSlow(t *testing.T, rule FutureRows, f func(t *testing.T, d *dated, s *slowDatabase)) {
	t.Helper()
	inDated(t, None, rule, func(t *testing.T, d *dated) {
		s := &slowDatabase{Table: d.table}
		d.source, d.cfg.Database = s, s
		d.start()
		f(t, d, s)
	})
}

// TestRowBarelyAhead: no estimate of the clock lets the position pass a row that is dated a little ahead, because the
// rows that are written until then are below it. The reading is uncertain by as long as it took, and the clock goes on
// while a page is on its way.
func TestRowBarelyAhead(t *testing.T) {
	const little = 400 * time.Millisecond
	for _, rule := range []FutureRows{FutureDeliver, FutureHold} {
		for name, s := range map[string]slowDatabase{
			"the clock is read slowly": {clockRead: little},
			"its answer is slow":       {clockAnswer: little},
			"a page is slow":           {pageAnswer: little},
		} {
			t.Run(fmt.Sprint(rule, ", ", name), func(t *testing.T) {
				inSlow(t, rule, func(t *testing.T, d *dated, slow *slowDatabase) {
					slow.clockRead, slow.clockAnswer, slow.pageAnswer = s.clockRead, s.clockAnswer, s.pageAnswer
					d.writes(3)
					d.put(little - 100*time.Millisecond)
					between := 0
					slow.answering = func() {
						if between == 0 {
							time.Sleep(10 * time.Millisecond)
							between = d.put(0)
						}
					}
					d.drain()
					d.put(0)
					d.ticks(5)
					if lost := d.lost(); len(lost) > 0 {
						t.Errorf("lost %v", lost)
					}
				})
			})
		}
	}
}

// TestNewestRowDoesNotWait: a row that is younger than the reading of the clock is exact comes in the same tick, for
// one more reading and one more page. Older rows cost neither.
func TestNewestRowDoesNotWait(t *testing.T) {
	for _, age := range []time.Duration{0, 30 * time.Millisecond} {
		t.Run(age.String(), func(t *testing.T) {
			inSlow(t, FutureFail, func(t *testing.T, d *dated, slow *slowDatabase) {
				slow.clockRead, slow.clockAnswer = 10*time.Millisecond, 10*time.Millisecond
				d.writes(3)
				asked, fetches, more := d.table.Asked, d.table.Fetches, 0
				if age == 0 {
					more = 1
				}
				for range 20 {
					key := d.put(0)
					time.Sleep(age)
					if d.drain(); d.versions[key] != 1 || d.refused != nil {
						t.Fatalf("row %d was delivered %d times: %v", key, d.versions[key], d.refused)
					}
					time.Sleep(time.Second)
				}
				if a, n := d.table.Asked-asked, d.table.Fetches-fetches; a != 20*more || n != 20*(1+more) {
					t.Errorf("20 ticks made %d readings and %d fetches", a, n)
				}
			})
		})
	}
}

// TestRowsWithoutEndDoNotKeepATick: each page shows a row that was written while the one before was on its way. The
// tick ends nevertheless.
func TestRowsWithoutEndDoNotKeepATick(t *testing.T) {
	inSlow(t, FutureFail, func(t *testing.T, d *dated, slow *slowDatabase) {
		slow.clockRead, slow.clockAnswer = 10*time.Millisecond, 10*time.Millisecond
		slow.answering = func() { d.put(0) }
		d.writes(20)
		if n := d.table.Fetches; n > 60 {
			t.Errorf("20 ticks made %d fetches", n)
		}
		slow.answering = nil
		d.ticks(1)
		if lost := d.lost(); len(lost) > 0 || d.refused != nil {
			t.Errorf("lost %v; refused: %v", lost, d.refused)
		}
	})
}

// noClock is a database whose rows can be read, and whose clock cannot.
type noClock struct {
	*latetest.Table
	err error
}

func (n *noClock) Horizon(ctx context.Context) (change.Horizon, error) {
	if n.err != nil {
		return change.Horizon{}, n.err
	}
	return n.Table.Horizon(ctx)
}

// TestClockThatWasNeverRead: while the database's clock cannot be read, no row counts as reached by it, because this
// machine's clock may be another. Nothing is passed, and all comes when the clock can be read.
func TestClockThatWasNeverRead(t *testing.T) {
	inDated(t, None, FutureHold, func(t *testing.T, d *dated) {
		d.table.Skew = -time.Hour
		clock := &noClock{d.table, errors.New("refused")}
		d.source, d.cfg.Database = clock, clock
		d.start()
		d.put(30 * time.Minute)
		d.drain()
		d.put(0)
		clock.err = nil
		d.ticks(90)
		d.put(0)
		time.Sleep(time.Hour)
		d.ticks(5)
		if lost := d.lost(); len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
	})
}
