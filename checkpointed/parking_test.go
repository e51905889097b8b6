package checkpointed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// TestPoisonAmongAHundred: 99 arrive at once, the bad one is tried 1 s, 5 s, 30 s and 2 min after its last failure, and
// is then a dead letter. Nothing of it remains.
func TestPoisonAmongAHundred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := refusing(t, nil, 100, 37)
		begun := time.Now()
		r := p.tick()
		if r.Event != poller.TickComplete || r.Rows != 100 || r.Parked != 1 || len(p.got(poller.Accepted)) != 99 ||
			index(p.doc().Checkpoint.Cursor) != 100 {
			t.Fatalf("the first tick: %+v; accepted %d, position %s", r, len(p.got(poller.Accepted)), p.doc().Checkpoint.Cursor)
		}
		var letters []poller.DeadLetter
		for time.Since(begun) < 200*time.Second {
			time.Sleep(time.Second)
			r = p.tick()
			letters = append(letters, r.DeadLettered...)
		}
		var tries []int
		for _, sent := range p.sent {
			if sent.row == 37 {
				tries = append(tries, int(sent.at.Sub(begun).Seconds()))
			}
		}
		if !slices.Equal(tries, []int{0, 1, 6, 36, 156}) {
			t.Errorf("tried after %v s", tries)
		}
		if len(letters) != 1 || len(p.deadLetters.letters) != 1 {
			t.Fatalf("%d dead letters reported, %d written", len(letters), len(p.deadLetters.letters))
		}
		d := letters[0]
		if d.Attempts != 5 || !d.First.Equal(begun) || d.Last.Sub(begun) != 156*time.Second || d.Status != 422 ||
			d.Cause != poller.Refused ||
			idOf(&d.Event) != 37 || d.Reason != "it is bad" || d.Table != "orders" {
			t.Errorf("%+v", d)
		}
		if r.Parked != 0 || len(p.parked()) != 0 || len(p.objects()) != 0 {
			t.Errorf("left over: %d parked, objects %q", r.Parked, p.objects())
		}
	})
}

// TestCoarseOrderKey: one tenant's 2,000 rows with a bad first one wait as its followers; other tenants flow; when it
// is given up, the followers are delivered in order, each in its newest state.
func TestCoarseOrderKey(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		for id := 1; id <= 2000; id++ {
			s.put(id, "big", "new")
		}
		for id := 2001; id <= 2010; id++ {
			s.put(id, fmt.Sprint("small", id), "new")
		}
		p := newProcess(t, nil, s, func(c *Config) { c.Policy.MaxParked = 3000 })
		p.limit = 500
		p.verdict = poison(1)
		if r := p.tick(); r.Event != poller.TickComplete || r.Parked != 2000 || len(p.got(poller.Accepted)) != 10 {
			t.Fatalf("%s, %d parked, accepted %v", r.Event, r.Parked, p.got(poller.Accepted))
		}
		s.put(2, "big", "updated") // its place is now after 2000
		p.tick()
		if e := p.parked(); len(e) != 1 || len(e[0].Followers) != 1999 || string(e[0].Followers[1998]) != `{"id":2}` ||
			string(e[0].Followers[0]) != `{"id":3}` {
			t.Fatalf("%d entries", len(e))
		}
		for range 160 {
			time.Sleep(time.Second)
			p.tick()
		}
		accepted := p.got(poller.Accepted)[10:]
		if len(p.deadLetters.letters) != 1 || len(accepted) != 1999 || accepted[0] != 3 || accepted[1998] != 2 ||
			!slices.IsSorted(accepted[:1998]) {
			t.Errorf("%d dead letters, accepted %d: %v …", len(p.deadLetters.letters), len(accepted),
				accepted[:min(len(accepted), 5)])
		}
		if len(p.parked()) != 0 || len(p.objects()) != 0 {
			t.Errorf("left over: %d entries, objects %q", len(p.parked()), p.objects())
		}
	})
}

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

// TestOutageOfHalfAnHour: a destination that answers nothing costs no attempt, however long it lasts.
func TestOutageOfHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		p := newProcess(t, nil, s, nil)
		p.verdict = func(*change.Event, change.Kind) poller.Outcome { return poller.Deferred }
		for id := 1; id <= 1800; id++ {
			s.put(id, "t", "new")
			time.Sleep(time.Second)
			if id%10 == 0 {
				if r := p.tick(); r.Event != poller.HandlerFailed || r.Rows != 0 || r.Parked != 0 {
					t.Fatalf("%+v", r)
				}
			}
		}
		p.sent = nil
		p.verdict = poison()
		r := p.tick()
		if r.Event != poller.TickComplete || r.Rows != 1800 || len(p.got(poller.Accepted)) != 1800 ||
			!slices.IsSorted(p.got(poller.Accepted)) || len(p.deadLetters.letters) != 0 {
			t.Errorf("%s: %d rows", r.Event, r.Rows)
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
