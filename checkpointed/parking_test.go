package checkpointed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// TestMaxParked: at the bound the position stays, with a fault that says so, and nothing is dropped; retries go on, and
// with them the poller.
func TestMaxParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := refusing(t, func(c *Config) { c.Policy.MaxParked = 3 }, 10, 1, 2, 4, 6)
		r := p.tick()
		if r.Event != poller.HandlerFailed || !strings.Contains(fmt.Sprint(r.Err), "max_parked") || r.Rows != 5 ||
			index(p.doc().Checkpoint.Cursor) != 5 {
			t.Errorf("%s: %v, %d rows, position %s", r.Event, r.Err, r.Rows, p.doc().Checkpoint.Cursor)
		}
		fetches := len(s.fetched)
		if r = p.tick(); r.Event != poller.HandlerFailed || len(s.fetched) != fetches {
			t.Errorf("at the bound: %s, %d fetches", r.Event, len(s.fetched)-fetches)
		}
		p.verdict = poison(6)
		time.Sleep(time.Second)
		p.tick()
		if r = p.tick(); r.Event != poller.TickComplete || r.Parked != 1 || index(p.doc().Checkpoint.Cursor) != 10 {
			t.Errorf("%s: %v, position %s", r.Event, r.Err, p.doc().Checkpoint.Cursor)
		}
		rows := p.got(poller.Accepted)
		slices.Sort(rows)
		if rows = slices.Compact(rows); !slices.Equal(rows, []int{1, 2, 3, 4, 5, 7, 8, 9, 10}) {
			t.Errorf("accepted %v", rows)
		}
	})
}

// TestDeadLetterThatCannotBeWritten: the tick fails and says so, the event stays parked and is tried again with the
// next tick; others flow meanwhile.
func TestDeadLetterThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := refusing(t, func(c *Config) { c.Policy.MaxAttempts = 2 }, 2, 1)
		p.tick()
		p.deadLetters.put = func(poller.DeadLetter) error { return fmt.Errorf("the queue is away") }
		time.Sleep(time.Second)
		s.fill(3, 4)
		r := p.tick()
		if r.Event != poller.HandlerFailed || !strings.Contains(r.Err.Error(), "dead letter of key") ||
			len(r.DeadLettered) != 0 || len(p.parked()) != 1 {
			t.Errorf("%s: %v", r.Event, r.Err)
		}
		p.deadLetters.put = nil
		time.Sleep(5 * time.Second)
		if r = p.tick(); r.Failed() || len(r.DeadLettered) != 1 || len(p.deadLetters.letters) != 1 || len(p.parked()) != 0 {
			t.Errorf("%+v", r)
		}
		if !slices.Equal(p.got(poller.Accepted), []int{2, 3, 4}) {
			t.Errorf("accepted %v", p.got(poller.Accepted))
		}
	})
}

// TestBlockedAfterItsDeadLetter: with after_dead_letter=block the key stays parked until an operator acts.
func TestBlockedAfterItsDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := refusing(t, func(c *Config) { c.Policy.MaxAttempts, c.Policy.Block = 1, true }, 2, 1)
		if r := p.tick(); len(r.DeadLettered) != 1 || r.Parked != 1 {
			t.Errorf("%+v", r)
		}
		s.put(1, "t1", "good")
		time.Sleep(time.Hour)
		if p.tick(); !slices.Equal(p.got(poller.Accepted), []int{2}) || len(p.parked()) != 1 || !p.parked()[0].Blocked {
			t.Errorf("accepted %v, parked %+v", p.got(poller.Accepted), p.parked())
		}
	})
}

// TestProbeIsOfAKeyThatNothingWaitsFor: the source is asked for another order key than those at hand and those parked,
// and the row comes again at its place.
func TestProbeIsOfAKeyThatNothingWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := refusing(t, nil, 1, 1)
		p.tick()
		s.fill(2, 2)
		p.limit = 1
		session := p.open()
		b := p.next(session)
		s.put(1, "t1", "bad")
		s.put(2, "t2", "bad")
		s.fill(3, 3)
		grant, err := session.Other(t.Context(), [][]byte{rowKey(2)})
		if err != nil || len(grant.Batch.Events) != 1 || idOf(&grant.Batch.Events[0]) != 3 || grant.Check() != nil ||
			grant.Token == 0 {
			t.Fatalf("%+v, %v", grant.Batch, err)
		}
		p.settle(session, p.judge(session, b))
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Fatal(err)
		}
		if p.tick(); !slices.Contains(p.got(poller.Accepted), 3) {
			t.Errorf("accepted %v", p.got(poller.Accepted))
		}
	})
}

// TestParkedObjectThatIsGone: nothing is delivered, because rejected rows would be forgotten.
func TestParkedObjectThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := refusing(t, nil, 1, 1)
		p.tick()
		p.edit(func(d *state.Document) { d.Parked.Object += "x" })
		if r := p.tick(); r.Event != poller.CheckpointLoadFailed || !strings.Contains(r.Err.Error(), "state reset orders") {
			t.Errorf("%s: %v", r.Event, r.Err)
		}
	})
}

// TestAnotherTickBeforeTheObjectsAreRead: between the moments in which an instance reads the document and what it
// names, another has worked. Its clean-up is not taken for a loss.
func TestAnotherTickBeforeTheObjectsAreRead(t *testing.T) {
	for name, work := range map[string]func(other *process){
		"and released the lease": func(other *process) { other.tick() },
		"and holds it": func(other *process) {
			other.tick()
			s := other.open()
			other.next(s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, one := refusing(t, nil, 1, 1)
				one.tick()
				other := newProcess(t, one.memory, s, nil)
				p := newProcess(t, one.memory, s, nil)
				s.fill(2, 3)
				time.Sleep(time.Minute) // the retry is due
				s.described = func() {
					s.described = nil
					other.verdict = poison(1, 2)
					work(other)
					s.fill(4, 4)
				}
				r := p.tick()
				if r.Failed() || len(r.Warnings) > 0 {
					t.Errorf("%s: %v, %q", r.Event, r.Err, r.Warnings)
				}
			})
		})
	}
}
