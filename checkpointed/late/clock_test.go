package late

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
)

// TestDatabaseClock: without the database's clock the low edge does not move, and a jump begins the window again.
func TestDatabaseClock(t *testing.T) {
	t.Run("it fails", func(t *testing.T) {
		inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
			d.late.Database = blindSource{d.table}
			d.ticks(100)
			if !d.doc.Checkpoint.Cursor.IsStart() || len(d.delivered) != 5 {
				t.Errorf("the checkpoint is %s, %d rows are delivered", d.doc.Checkpoint.Cursor, len(d.delivered))
			}
			if len(d.warned) != 1 { // ticks that fail with the database begin sessions, and say so themselves
				t.Errorf("it is told %d times, want once: %.200q", len(d.warned), d.warned)
			}
			d.late.Database = d.table
			d.ticks(60)
			if d.doc.Checkpoint.Cursor.IsStart() {
				t.Error("the checkpoint does not move after the clock is back")
			}
		})
	})
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
				d.cfg.Window = 90 * time.Second // the clock is read in between
				d.start()
				d.ticks(30)
				d.table.Skew += jump
				d.ticks(89)
				if !d.doc.Checkpoint.Cursor.IsStart() {
					t.Error("the checkpoint moved before a window had passed since the jump")
				}
				d.ticks(130)
				if d.doc.Checkpoint.Cursor.IsStart() {
					t.Error("the checkpoint does not move after a jump")
				}
			})
		})
	}
}

// blindSource does not tell the time.
type blindSource struct{ *latetest.Table }

func (blindSource) Horizon(context.Context) (change.Horizon, error) {
	return change.Horizon{}, errors.New("denied")
}

// TestMarkFromTheFuture: a stored mark that lies ahead of the database's clock does not hold the low edge for ever.
func TestMarkFromTheFuture(t *testing.T) {
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		d.drain()
		d.doc.Late.Since = time.Now().Add(365 * 24 * time.Hour)
		d.crash()
		d.ticks(40)
		if d.doc.Checkpoint.Cursor.IsStart() {
			t.Error("the checkpoint does not move")
		}
	})
}

// slowClock takes a while to connect before its first reading, as a far server does.
type slowClock struct {
	database
	connected bool
}

func (s *slowClock) Horizon(ctx context.Context) (change.Horizon, error) {
	if !s.connected {
		time.Sleep(500 * time.Millisecond)
	}
	s.connected = true
	return s.database.Horizon(ctx)
}

// TestSlowReadingIsNoJump: a reading that took long tells less of the clock than the one after it. That is no jump: a
// process that begins right after another one has no window begin again.
func TestSlowReadingIsNoJump(t *testing.T) {
	inLate(t, Overlap, 10, func(t *testing.T, d *driver) {
		d.cfg.Database = &slowClock{database: d.table}
		for range 2 {
			d.start()
			d.drain()
		}
		if d.doc.Late.Since.IsZero() {
			t.Fatal("no window has begun")
		}
		if len(d.warned) > 0 {
			t.Errorf("%q", d.warned)
		}
	})
}
