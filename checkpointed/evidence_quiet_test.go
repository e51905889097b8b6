package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// The tables of these tests are quiet: nothing comes after the bad row that could show that the destination works.

// lateModes are the ways that decide which rows come, and when: what is promised about a bad row does not depend on
// them.
var lateModes = []late.Mode{late.Exact, late.None, late.Overlap}

// TestNewestRowIsBad: it is set aside in the first tick, tried at its times, and given up after the last, whatever the
// destination answers.
func TestNewestRowIsBad(t *testing.T) {
	quick.Skip(t)
	for _, status := range []int{400, 500, 404, naming} {
		for _, mode := range lateModes {
			for _, size := range []int{1, 25} {
				t.Run(fmt.Sprint(status, mode, size), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newShop()
						s.describe.Late = mode
						s.fill(1, 8)
						p := newProcess(t, nil, s, nil)
						to := newDestination(func(row int) int {
							if row == 9 {
								return status
							}
							return 200
						})
						relay := pollertest.Relay(t, p.feed, to, pollertest.Hundred, func(c *poller.Config) {
							c.RequestEvents, c.Retries = size, 1
						})
						relay.Tick(t.Context())
						time.Sleep(time.Minute)
						s.fill(9, 9)
						begun := time.Now()
						if r := relay.Tick(t.Context()); r.Failed() || r.Parked != 1 {
							t.Fatalf("%s: %v, %d parked", r.Event, r.Err, r.Parked)
						}
						for len(p.deadLetters.letters) == 0 && time.Since(begun) < 5*time.Minute {
							time.Sleep(time.Second)
							if r := relay.Tick(t.Context()); r.Failed() {
								t.Fatalf("%s: %v", r.Event, r.Err)
							}
						}
						if n := len(p.deadLetters.letters); n != 1 || p.deadLetters.letters[0].Attempts != 5 ||
							time.Since(begun) != 156*time.Second {
							t.Errorf("%d dead letters after %s, %+v parked", n, time.Since(begun), p.parked())
						}
						if !slices.Equal(to.rows(), upTo(8)) || len(to.accepted) != 8 {
							t.Errorf("accepted %v", to.accepted)
						}
					})
				})
			}
		}
	}
}

// TestOnlyRowIsBad: nothing was ever accepted. An answer that is about the row counts; any other sets it aside, and
// says that the destination may be at fault.
func TestOnlyRowIsBad(t *testing.T) {
	quick.Skip(t)
	for _, status := range []int{422, naming, 500, 401, 503} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.fill(1, 1)
			p := newProcess(t, nil, s, nil)
			to := newDestination(func(int) int { return status })
			relay := p.ticking(to)
			about := status == 422 || status == naming
			r := relay.Tick(t.Context())
			if r.Parked != 1 && status != 503 || r.Failed() == about ||
				r.Failed() && (r.Event != poller.HandlerFailed || !slices.Contains(poller.OutageReasons(), r.Reason)) {
				t.Fatalf("%d: %s (%s): %v, %d parked", status, r.Event, r.Reason, r.Err, r.Parked)
			}
			for range 600 {
				time.Sleep(time.Second)
				relay.Tick(t.Context())
			}
			if given := len(p.deadLetters.letters) == 1; given != about || len(p.parked()) > 1-len(p.deadLetters.letters) {
				t.Errorf("%d: %d dead letters, parked %+v", status, len(p.deadLetters.letters), p.parked())
			}
			if n := len(to.times[1]); n > 20 && status != 503 {
				t.Errorf("%d: sent %d times in ten minutes", status, n)
			}
			// Another row that is accepted is the evidence that was missing.
			to.answer = func(row int) int {
				if row == 1 {
					return status
				}
				return 200
			}
			for range 5 {
				s.fill(s.writes+1, s.writes+1)
				time.Sleep(2 * time.Minute)
				relay.Tick(t.Context())
			}
			if n := len(p.deadLetters.letters); n != 1 && status != 503 {
				t.Errorf("%d: %d dead letters, parked %+v", status, n, p.parked())
			}
		})
	}
}

// TestSilentRowHoldsUpNoOther: a row that gets no answer is due before another that is refused, and has no verdict. The
// other is given up, and not sent with every tick.
func TestSilentRowHoldsUpNoOther(t *testing.T) {
	quick.Skip(t)
	for _, rows := range []int{100, 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.fill(1, 3)
			p := newProcess(t, nil, s, nil)
			asked := 0
			sink := pollertest.Func(func(_ context.Context, d change.Delivery) error {
				for i := range d.Events {
					switch idOf(&d.Events[i]) {
					case 1:
						return poller.FailAll(len(d.Events), poller.Unavailable, 0, errors.New("no answer"))
					case 2:
						asked++
						return poller.FailAll(len(d.Events), poller.Refused, 400, errors.New("HTTP 400"))
					}
				}
				return nil
			})
			relay := pollertest.Relay(t, p.feed, sink, pollertest.Hundred, func(c *poller.Config) {
				c.RequestEvents, c.Retries, c.Fetch.Rows = 1, 1, rows
			})
			for range 600 {
				relay.Tick(t.Context())
				time.Sleep(time.Second)
			}
			if n := len(p.deadLetters.letters); n != 1 || asked > 20 {
				t.Errorf("%d rows at once: %d dead letters, asked %d times, parked %+v", rows, n, asked, p.parked())
			}
		})
	}
}

// TestOneOrderKeyOnly: what the destination accepted of the key itself is evidence too.
func TestOneOrderKeyOnly(t *testing.T) {
	for _, status := range []int{400, 500, naming} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.describe.Coarse = true
			for id := 1; id <= 50; id++ {
				s.put(id, "one", "new")
			}
			p := newProcess(t, nil, s, nil)
			to := newDestination(func(row int) int {
				if row == 20 {
					return status
				}
				return 200
			})
			relay := p.ticking(to)
			for len(p.deadLetters.letters) == 0 || len(p.parked()) > 0 {
				if time.Since(to.begun) > 5*time.Minute {
					t.Fatalf("%d: %d dead letters, parked %+v, accepted %v", status, len(p.deadLetters.letters), p.parked(),
						to.accepted)
				}
				relay.Tick(t.Context())
				time.Sleep(time.Second)
			}
			if !slices.Equal(to.accepted, upTo(50, 20)) {
				t.Errorf("%d: accepted %v", status, to.accepted)
			}
		})
	}
}

// TestReceiverThatRefusesARedelivery: the answer to a delivery was lost, and the receiver refuses the same event for
// good.
func TestReceiverThatRefusesARedelivery(t *testing.T) {
	for _, status := range []int{409, 422} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.fill(1, 5)
			p := newProcess(t, nil, s, nil)
			var mu sync.Mutex
			seen := map[int]bool{}
			sink := pollertest.Func(func(_ context.Context, d change.Delivery) error {
				mu.Lock()
				defer mu.Unlock()
				row := idOf(&d.Events[0])
				if seen[row] {
					return poller.FailAll(1, poller.Refused, status, errors.New("seen before"))
				}
				if seen[row] = true; row == 5 {
					return errors.New("connection reset")
				}
				return nil
			})
			relay := pollertest.Relay(t, p.feed, sink, pollertest.Hundred, func(c *poller.Config) { c.RequestEvents = 1 })
			for range 200 {
				relay.Tick(t.Context())
				time.Sleep(time.Second)
			}
			if n := len(p.deadLetters.letters); n != 1 || len(p.parked()) != 0 {
				t.Errorf("%d: %d dead letters, parked %+v", status, n, p.parked())
			}
		})
	}
}

// TestQuietOutage: rows that come one by one into an outage are not given up, whatever it answers, and few are set
// aside.
func TestQuietOutage(t *testing.T) {
	quick.Skip(t)
	for _, status := range []int{422, 500, 503, 401} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.fill(1, 5)
			p := newProcess(t, nil, s, nil)
			down := false
			to := newDestination(func(int) int {
				if down {
					return status
				}
				return 200
			})
			relay := p.ticking(to)
			relay.Tick(t.Context())
			down = true
			row := 6
			for ; time.Since(to.begun) < 20*time.Minute; row++ {
				time.Sleep(30 * time.Second)
				s.fill(row, row)
				for range 30 {
					relay.Tick(t.Context())
					time.Sleep(time.Second)
				}
			}
			if n := len(p.parked()); n > pollertest.MaxProbes || len(p.deadLetters.letters) > 0 {
				t.Errorf("%d: %d are set aside, %d given up", status, n, len(p.deadLetters.letters))
			}
			down = false
			for range 4 {
				relay.Tick(t.Context())
				time.Sleep(2 * time.Minute)
			}
			if !slices.Equal(to.rows(), upTo(row-1)) || len(p.parked()) != 0 {
				t.Errorf("%d: %d of %d arrived, parked %+v", status, len(to.rows()), row-1, p.parked())
			}
		})
	}
}
