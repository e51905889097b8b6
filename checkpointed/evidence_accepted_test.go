package checkpointed

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// TestAcceptanceOutlivesTheProcess: the document remembers when the destination last accepted an event.
func TestAcceptanceOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 3)
		p := newProcess(t, nil, s, nil)
		to := newDestination(func(row int) int {
			if row == 4 {
				return 500
			}
			return 200
		})
		p.ticking(to).Tick(t.Context())
		if at := p.doc().Checkpoint.AcceptedAt; time.Since(at).Abs() > time.Second {
			t.Errorf("accepted at %s", at)
		}
		s.fill(4, 4)
		time.Sleep(time.Minute)
		second := newProcess(t, p.memory, s, nil)
		if r := second.ticking(to).Tick(t.Context()); r.Failed() || len(second.parked()) != 1 ||
			second.parked()[0].Cause != "refused" {
			t.Errorf("%s: %v, parked %+v", r.Event, r.Err, second.parked())
		}
	})
}

// TestAnotherProcessHasSeenAnAcceptance: what this one has counted since the acceptance before is of no account then.
func TestAnotherProcessHasSeenAnAcceptance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 3)
		first := newProcess(t, nil, s, nil)
		to := newDestination(func(row int) int {
			if row == 4 || row == 6 {
				return 400
			}
			return 200
		})
		relay := first.ticking(to)
		relay.Tick(t.Context())
		s.fill(4, 4)
		for range 300 {
			time.Sleep(time.Second)
			relay.Tick(t.Context())
		}
		s.fill(5, 5)
		if r := newProcess(t, first.memory, s, nil).ticking(to).Tick(t.Context()); r.Rows != 1 {
			t.Fatalf("the other process: %s, %d rows", r.Event, r.Rows)
		}
		s.fill(6, 6)
		for range 300 {
			time.Sleep(time.Second)
			if r := relay.Tick(t.Context()); r.Failed() {
				t.Fatalf("%s: %v", r.Event, r.Err)
			}
		}
		if n := len(first.deadLetters.letters); n != 2 || len(first.parked()) > 0 {
			t.Errorf("%d dead letters, parked %+v", n, first.parked())
		}
	})
}

// TestAnAcceptanceElsewhereEndsTheAlarm: the ticks of a process that has set events aside fail until one is accepted,
// by whichever process.
func TestAnAcceptanceElsewhereEndsTheAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		first := newProcess(t, nil, s, nil)
		down := true
		to := newDestination(func(row int) int {
			if row == 1 && down {
				return 500
			}
			return 200
		})
		relay := first.ticking(to)
		if r := relay.Tick(t.Context()); !r.Failed() || r.Parked != 1 {
			t.Fatalf("%s: %v, %d parked", r.Event, r.Err, r.Parked)
		}
		s.fill(2, 2)
		if r := newProcess(t, first.memory, s, nil).ticking(to).Tick(t.Context()); r.Rows != 1 {
			t.Fatalf("the other process: %s, %d rows", r.Event, r.Rows)
		}
		if r := relay.Tick(t.Context()); r.Failed() || r.Parked != 1 {
			t.Errorf("%s: %v, %d parked", r.Event, r.Err, r.Parked)
		}
	})
}

// TestAcceptedAtIsKept: the member survives commits of others and an older time.
func TestAcceptedAtIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		to := newDestination(func(int) int { return 200 })
		relay := p.ticking(to)
		relay.Tick(t.Context())
		first := p.doc().Checkpoint.AcceptedAt
		if _, err := p.keeper.Amend(t.Context(), func(d *state.Document) error {
			d.Checkpoint.RowCount = 7
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := p.doc().Checkpoint.AcceptedAt; first.IsZero() || !got.Equal(first) {
			t.Errorf("accepted at %s, then %s", first, got)
		}
	})
}
