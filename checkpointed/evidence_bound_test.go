package checkpointed

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
)

// These tests hold the bound: whatever the schedule and the delays, a bad row comes to its end while the destination
// works.

// TestSlowScheduleAndLongDelays: attempts lie further apart than an acceptance is fresh.
func TestSlowScheduleAndLongDelays(t *testing.T) {
	for _, coarse := range []bool{true, false} {
		for _, every := range []time.Duration{time.Minute, 5 * time.Minute} {
			for _, delays := range [][]time.Duration{nil, {10 * time.Minute}} {
				synctest.Test(t, func(t *testing.T) {
					s := newShop()
					s.describe.Coarse = coarse
					for id := 1; id <= 20; id++ {
						s.put(id, "one", "new")
					}
					p := newProcess(t, nil, s, func(c *Config) {
						if delays != nil {
							c.Policy.Delays = delays
						}
					})
					to := newDestination(func(row int) int {
						if row == 20 {
							return 500
						}
						return 200
					})
					relay := p.ticking(to)
					for time.Since(to.begun) < 3*time.Hour {
						relay.Tick(t.Context())
						time.Sleep(every)
					}
					if n := len(p.deadLetters.letters); n != 1 || len(p.parked()) != 0 || p.deadLetters.letters[0].Attempts != 5 {
						t.Errorf("coarse %v, every %s, delays %v: %d dead letters, parked %+v", coarse, every, delays, n, p.parked())
					}
				})
			}
		}
	}
}

// TestRestartOfTheReceiver: what it answered while it started says nothing about the event, however often.
func TestRestartOfTheReceiver(t *testing.T) {
	quick.Skip(t)
	for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderSource} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.fill(1, 5)
			p := newProcess(t, nil, s, func(c *Config) { c.Ordering = ordering })
			starts := true
			to := newDestination(func(row int) int {
				switch {
				case starts:
					return 503
				case row == 1:
					return 400
				default:
					return 200
				}
			})
			relay := pollertest.Relay(t, p.feed, to, pollertest.Hundred, func(c *poller.Config) { c.Ordering = ordering })
			for range 10 {
				relay.Tick(t.Context())
				time.Sleep(time.Second)
			}
			starts = false
			for range 600 {
				relay.Tick(t.Context())
				time.Sleep(time.Second)
			}
			if n := len(p.deadLetters.letters); n != 1 || !slices.Equal(to.rows(), []int{2, 3, 4, 5}) {
				t.Errorf("%s: %d dead letters, accepted %v", ordering, n, to.accepted)
			}
		})
	}
}

// TestAcceptanceOfAClockThatIsAhead: the document says that the destination accepted an event in an hour.
func TestAcceptanceOfAClockThatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 3)
		p := newProcess(t, nil, s, nil)
		to := newDestination(func(row int) int {
			if row == 5 {
				return 500
			}
			return 200
		})
		relay := p.ticking(to)
		relay.Tick(t.Context())
		p.edit(func(d *state.Document) { d.Checkpoint.AcceptedAt = time.Now().Add(time.Hour) })
		s.fill(4, 4)
		relay.Tick(t.Context())
		if at := p.doc().Checkpoint.AcceptedAt; at.After(time.Now()) {
			t.Errorf("it stays there: %s", at)
		}
		s.fill(5, 5)
		for range 200 {
			relay.Tick(t.Context())
			time.Sleep(time.Second)
		}
		if n := len(p.deadLetters.letters); n != 1 {
			t.Errorf("%d dead letters, parked %+v", n, p.parked())
		}
	})
}

// TestOneEventIsAnswered503: an event that the destination has no room for, while it accepts all others, comes to its
// end.
func TestOneEventIsAnswered503(t *testing.T) {
	quick.Skip(t)
	for _, every := range []time.Duration{time.Second, 10 * time.Minute} { // between two other rows
		synctest.Test(t, func(t *testing.T) {
			shop := newShop()
			p := newProcess(t, nil, shop, nil)
			to := newDestination(func(row int) int {
				if row == 3 {
					return 503
				}
				return 200
			})
			relay := p.ticking(to)
			row, due := 5, every
			for shop.fill(1, row); len(p.deadLetters.letters) == 0 &&
				time.Since(to.begun) < 3*time.Hour; time.Sleep(10 * time.Second) {
				if time.Since(to.begun) > due {
					due += every
					row++
					shop.fill(row, row)
				}
				relay.Tick(t.Context())
			}
			if n := len(p.deadLetters.letters); n != 1 || len(p.parked()) != 0 || time.Since(to.begun) < time.Hour ||
				!slices.Equal(to.rows(), upTo(row, 3)) {
				t.Errorf("after %s: %d dead letters, parked %+v, %d of %d arrived", time.Since(to.begun), n, p.parked(),
					len(to.rows()), row)
			}
		})
	}
}

// TestLimitOfOneKey: a limit delays the event that it was said of, and no other. However long it lasts, it gives
// nothing up.
func TestLimitOfOneKey(t *testing.T) {
	quick.Skip(t)
	for _, size := range []int{1, 100} {
		synctest.Test(t, func(t *testing.T) {
			shop := newShop()
			shop.fill(1, 20)
			p := newProcess(t, nil, shop, nil)
			limited := true
			to := newDestination(func(row int) int {
				if limited && row == 7 {
					return 429
				}
				return 200
			})
			to.again = 2 * time.Minute
			relay := pollertest.Relay(t, p.feed, to, pollertest.Hundred, func(c *poller.Config) { c.RequestEvents = size })
			if r := relay.Tick(t.Context()); r.Failed() || !slices.Equal(to.rows(), upTo(20, 7)) || r.Parked != 1 {
				t.Fatalf("%s: %v; %v arrived, %d parked", r.Event, r.Err, to.rows(), r.Parked)
			}
			row := 21
			for ; time.Since(to.begun) < 8*time.Minute; row++ {
				time.Sleep(time.Second)
				shop.fill(row, row)
				if r := relay.Tick(t.Context()); r.Failed() {
					t.Fatalf("%s: %v", r.Event, r.Err)
				}
			}
			if tries := to.times[7]; len(tries) > 9 || len(p.deadLetters.letters) != 0 || len(p.parked()) != 1 {
				t.Errorf("sent alone at %v, %d dead letters, %d parked", tries, len(p.deadLetters.letters), len(p.parked()))
			}
			limited = false
			time.Sleep(2 * time.Minute)
			if relay.Tick(t.Context()); len(p.parked()) != 0 || !slices.Equal(to.rows(), upTo(row-1)) {
				t.Errorf("after the limit: %d of %d arrived, parked %+v", len(to.rows()), row-1, p.parked())
			}
		})
	}
}

// TestShardThatIsAway: what the destination has no room for now is not given up, however long that lasts, and however
// many others it accepts.
func TestShardThatIsAway(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		p := newProcess(t, nil, shop, nil)
		away := true
		to := newDestination(func(row int) int {
			if away && row%4 == 0 {
				return 503
			}
			return 200
		})
		relay := p.ticking(to)
		row := 1
		for ; time.Since(to.begun) < 10*time.Minute; row++ {
			shop.fill(row, row)
			if r := relay.Tick(t.Context()); r.Failed() && row%4 != 0 { // where it is the only row, it may be an outage
				t.Fatalf("%s: %v", r.Event, r.Err)
			}
			time.Sleep(3 * time.Second)
		}
		away = false
		for range 3 {
			time.Sleep(2 * time.Minute)
			relay.Tick(t.Context())
		}
		if len(p.deadLetters.letters) != 0 || len(p.parked()) != 0 || !slices.Equal(to.rows(), upTo(row-1)) {
			t.Errorf("%d dead letters, %d parked, %d of %d arrived", len(p.deadLetters.letters), len(p.parked()), len(to.rows()),
				row-1)
		}
	})
}
