package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestOutageThatRefusesEverythingGivesNothingUp: neither what was parked before it, nor the first rows that it refused,
// while the destination answers 422 to everything. The bad row is, when it answers that to the bad row only.
func TestOutageThatRefusesEverythingGivesNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		shop.fill(2, 5)
		p := newProcess(t, nil, shop, nil)
		out := false
		sink := pollertest.Func(func(_ context.Context, d change.Delivery) error {
			for i := range d.Events {
				if out || textOf(&d.Events[i]) == "bad" {
					return poller.FailAll(len(d.Events), poller.Refused, 422, errors.New("422"))
				}
			}
			return nil
		})
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) { c.RejectStatus = []int{422} })
		relay.Tick(t.Context())
		out = true
		for range 30 {
			time.Sleep(time.Minute)
			shop.put(1000+shop.writes, "x", "new")
			relay.Tick(t.Context())
		}
		if n := len(p.deadLetters.letters); n > 0 || len(p.parked()) > 1+pollertest.MaxProbes || p.parked()[0].Attempts == 5 {
			t.Errorf("%d events were dead-lettered while the destination refused everything: %+v", n, p.parked())
		}
		out = false
		for range 10 {
			shop.put(1000+shop.writes, "x", "new")
			relay.Tick(t.Context())
			time.Sleep(5 * time.Minute)
		}
		if n := len(p.deadLetters.letters); n != 1 {
			t.Errorf("%d dead letters after the outage: %+v", n, p.parked())
		}
	})
}

// TestPoisonRowsAloneComeToTheirEnd: in a table where nothing else happens there is nobody to ask, and bad rows say
// nothing about each other.
func TestPoisonRowsAloneComeToTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		for id := 1; id <= 6; id++ {
			shop.put(id, fmt.Sprint("t", id), "bad")
		}
		shop.put(7, "t7", "new")
		p := newProcess(t, nil, shop, nil)
		relay := pollertest.Relay(t, p.feed, &anySink{got: map[int]int{}}, func(c *poller.Config) {
			c.RejectStatus = []int{422}
		})
		for range 10 {
			relay.Tick(t.Context())
			time.Sleep(5 * time.Minute)
		}
		if n := len(p.deadLetters.letters); n != 6 || len(p.parked()) != 0 {
			t.Errorf("%d dead letters, parked %+v", n, p.parked())
		}
	})
}

// TestManyBadRowsFetched: where all that was fetched is bad, the source is asked for a probe before the tick gives up.
func TestManyBadRowsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		for id := 1; id <= 10; id++ {
			shop.put(id, fmt.Sprint("t", id), "bad")
		}
		shop.fill(11, 20)
		p := newProcess(t, nil, shop, nil)
		sink := &anySink{got: map[int]int{}}
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) {
			c.RejectStatus, c.Fetch.Rows, c.RequestEvents = []int{422}, 5, 5
		})
		if r := relay.Tick(t.Context()); r.Failed() || len(p.parked()) != 10 {
			t.Errorf("%s, %v: %d of 10 bad rows are parked", r.Event, r.Err, len(p.parked()))
		}
	})
}

// TestLongRunOfBadRows: more bad rows in a row than a tick can probe, or a source be asked to leave out, are no outage
// for ever.
func TestLongRunOfBadRows(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		const bad = 3 * poller.MaxAvoid
		shop := newShop()
		for id := 1; id <= bad; id++ {
			shop.put(id, fmt.Sprint("t", id), "bad")
		}
		shop.fill(bad+1, bad+3)
		p := newProcess(t, nil, shop, nil)
		sink := &anySink{got: map[int]int{}}
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) { c.RejectStatus = []int{422} })
		for ticks := 0; len(sink.got) == 0; ticks++ {
			if ticks == 2*bad {
				t.Fatal("the good rows after the bad ones never came")
			}
			relay.Tick(t.Context())
			time.Sleep(time.Second)
		}
		if len(p.parked()) == 0 && len(p.deadLetters.letters) == 0 {
			t.Error("nothing is parked although there was a probe")
		}
	})
}

// TestRowsSetAsideByAnotherProcess: a process that takes over knows no more than the one before whether two rows are at
// fault, or the destination that refuses both. An acceptance tells.
func TestRowsSetAsideByAnotherProcess(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 2)
		first := newProcess(t, nil, s, nil)
		if r := first.ticking(newDestination(func(int) int { return 404 })).Tick(t.Context()); r.Parked != 2 {
			t.Fatalf("%s: %v, %d parked", r.Event, r.Err, r.Parked)
		}
		p := newProcess(t, first.memory, s, nil)
		relay := p.ticking(newDestination(func(row int) int {
			if row <= 2 {
				return 422
			}
			return 200
		}))
		for range 600 {
			time.Sleep(time.Second)
			relay.Tick(t.Context())
		}
		if n := len(p.deadLetters.letters); n != 0 || len(p.parked()) != 2 {
			t.Errorf("%d dead letters, parked %+v", n, p.parked())
		}
		s.fill(3, 3)
		for range 600 {
			time.Sleep(time.Second)
			relay.Tick(t.Context())
		}
		if n := len(p.deadLetters.letters); n != 2 || len(p.parked()) != 0 {
			t.Errorf("%d dead letters after an acceptance, parked %+v", n, p.parked())
		}
	})
}
