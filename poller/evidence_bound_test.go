package poller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// These tests hold the bound: whatever the schedule and the delays, a bad row comes to its end while the destination works.

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
					p := newProcess(t, nil, s, func(c *CheckpointedConfig) {
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
					if n := len(p.graves.letters); n != 1 || len(p.parked()) != 0 || p.graves.letters[0].Attempts != 5 {
						t.Errorf("coarse %v, every %s, delays %v: %d dead letters, parked %+v", coarse, every, delays, n, p.parked())
					}
				})
			}
		}
	}
}

// TestRestartOfTheReceiver: what it answered while it started says nothing about the event, however often.
func TestRestartOfTheReceiver(t *testing.T) {
	for _, ordering := range []Ordering{OrderKey, OrderSource} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.fill(1, 5)
			p := newProcess(t, nil, s, func(c *CheckpointedConfig) { c.Ordering = ordering })
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
			relay := relayOf(t, p.feed, to, func(c *Config) { one(c); c.Ordering = ordering })
			for range 10 {
				relay.Tick(t.Context())
				time.Sleep(time.Second)
			}
			starts = false
			for range 600 {
				relay.Tick(t.Context())
				time.Sleep(time.Second)
			}
			if n := len(p.graves.letters); n != 1 || !slices.Equal(to.rows(), []int{2, 3, 4, 5}) {
				t.Errorf("%s: %d dead letters, accepted %v", ordering, n, to.accepted)
			}
		})
	}
}

// TestBrokenRowBehindASuspect: a row that can never be sent is no probe, and takes no probe's place.
func TestBrokenRowBehindASuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable([]string{"b", "a"})
		feed.broken = map[int]bool{0: true}
		out := outputFunc(func(_ context.Context, d change.Delivery) error {
			time.Sleep(100 * time.Millisecond)
			return FailAll(len(d.Events), Refused, 400, errors.New("answered 400"))
		})
		relay := relayOf(t, feed, out, func(c *Config) { one(c); c.Concurrency = 1 })
		for range 100 {
			relay.Tick(t.Context())
			time.Sleep(2 * time.Second)
		}
		slices.Sort(feed.dead)
		if !slices.Equal(feed.dead, []string{"0", "1"}) {
			t.Errorf("dead %v, parked %v", feed.dead, feed.parked)
		}
	})
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
		if n := len(p.graves.letters); n != 1 {
			t.Errorf("%d dead letters, parked %+v", n, p.parked())
		}
	})
}

// TestOneEventIsAnswered503: an event that the destination has no room for, while it accepts all others, comes to its end.
func TestOneEventIsAnswered503(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: `make test` runs it")
	}
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
			for shop.fill(1, row); len(p.graves.letters) == 0 && time.Since(to.begun) < 3*time.Hour; time.Sleep(10 * time.Second) {
				if time.Since(to.begun) > due {
					due += every
					row++
					shop.fill(row, row)
				}
				relay.Tick(t.Context())
			}
			if n := len(p.graves.letters); n != 1 || len(p.parked()) != 0 || time.Since(to.begun) < busyLimit || !slices.Equal(to.rows(), upTo(row, 3)) {
				t.Errorf("after %s: %d dead letters, parked %+v, %d of %d arrived", time.Since(to.begun), n, p.parked(), len(to.rows()), row)
			}
		})
	}
}
