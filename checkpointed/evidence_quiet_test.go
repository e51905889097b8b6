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
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
)

// The tables of these tests are quiet: nothing comes behind the bad row that could show that the destination works.

// lateModes are the ways that decide which rows come, and when: what is promised about a bad row does not depend on
// them.
var lateModes = []late.Mode{late.Exact, late.None, late.Overlap}

// TestNewestRowIsBad: it is set aside in the first tick, tried at its times, and given up after the last, whatever the
// destination answers.
func TestNewestRowIsBad(t *testing.T) {
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
						for len(p.graves.letters) == 0 && time.Since(begun) < 5*time.Minute {
							time.Sleep(time.Second)
							if r := relay.Tick(t.Context()); r.Failed() {
								t.Fatalf("%s: %v", r.Event, r.Err)
							}
						}
						if n := len(p.graves.letters); n != 1 || p.graves.letters[0].Attempts != 5 ||
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
				r.Failed() && (r.Event != poller.HandlerFailed || r.Reason != "unavailable") {
				t.Fatalf("%d: %s (%s): %v, %d parked", status, r.Event, r.Reason, r.Err, r.Parked)
			}
			for range 600 {
				time.Sleep(time.Second)
				relay.Tick(t.Context())
			}
			if given := len(p.graves.letters) == 1; given != about || len(p.parked()) > 1-len(p.graves.letters) {
				t.Errorf("%d: %d dead letters, parked %+v", status, len(p.graves.letters), p.parked())
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
			if n := len(p.graves.letters); n != 1 && status != 503 {
				t.Errorf("%d: %d dead letters, parked %+v", status, n, p.parked())
			}
		})
	}
}

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
		if n := len(first.graves.letters); n != 2 || len(first.parked()) > 0 {
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

// TestSilentRowHoldsUpNoOther: a row that gets no answer is due before another that is refused, and has no verdict. The
// other is given up, and not sent with every tick.
func TestSilentRowHoldsUpNoOther(t *testing.T) {
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
			c.RequestEvents, c.Retries = 1, 1
		})
		for range 600 {
			relay.Tick(t.Context())
			time.Sleep(time.Second)
		}
		if n := len(p.graves.letters); n != 1 || asked > 20 {
			t.Errorf("%d dead letters, asked %d times, parked %+v", n, asked, p.parked())
		}
	})
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
			for len(p.graves.letters) == 0 || len(p.parked()) > 0 {
				if time.Since(to.begun) > 5*time.Minute {
					t.Fatalf("%d: %d dead letters, parked %+v, accepted %v", status, len(p.graves.letters), p.parked(), to.accepted)
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
			if n := len(p.graves.letters); n != 1 || len(p.parked()) != 0 {
				t.Errorf("%d: %d dead letters, parked %+v", status, n, p.parked())
			}
		})
	}
}

// TestQuietOutage: rows that come one by one into an outage are not given up, whatever it answers, and few are set
// aside.
func TestQuietOutage(t *testing.T) {
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
			if n := len(p.parked()); n > pollertest.MaxProbes || len(p.graves.letters) > 0 {
				t.Errorf("%d: %d are set aside, %d given up", status, n, len(p.graves.letters))
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

// TestSourceOrderSendsNothingAhead: an event that fails once is sent again before anything that comes after it.
func TestSourceOrderSendsNothingAhead(t *testing.T) {
	for _, status := range []int{400, 500, naming} {
		for _, from := range []int{1, 3} { // from 3 on nothing was accepted before
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.fill(from, 5)
				p := newProcess(t, nil, s, func(c *Config) { c.Ordering = poller.OrderSource })
				failed := false
				to := newDestination(func(row int) int {
					if row == 3 && !failed {
						failed = true
						return status
					}
					return 200
				})
				relay := pollertest.Relay(t, p.feed, to, pollertest.Hundred, func(c *poller.Config) {
					c.Ordering, c.Retries = poller.OrderSource, 1
				})
				for range 10 {
					relay.Tick(t.Context())
					time.Sleep(time.Second)
				}
				if want := upTo(5)[from-1:]; !slices.Equal(to.accepted, want) {
					t.Errorf("%d: accepted %v, want %v", status, to.accepted, want)
				}
			})
		}
	}
}

// TestSourceOrderWaitsWithoutEvidence: where an answer says nothing about the event, and nothing was ever accepted, the
// poller waits, and asks at the delays only.
func TestSourceOrderWaitsWithoutEvidence(t *testing.T) {
	for _, status := range []int{401, 500} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.fill(1, 5)
			p := newProcess(t, nil, s, func(c *Config) { c.Ordering = poller.OrderSource })
			down := true
			to := newDestination(func(int) int {
				if down {
					return status
				}
				return 200
			})
			relay := pollertest.Relay(t, p.feed, to, pollertest.Hundred, func(c *poller.Config) {
				c.Ordering, c.Retries = poller.OrderSource, 1
			})
			for time.Since(to.begun) < time.Hour {
				relay.Tick(t.Context())
				time.Sleep(time.Second)
			}
			if n := len(to.times[1]); n > 40 || len(p.graves.letters) != 0 || !p.doc().Checkpoint.Cursor.IsStart() {
				t.Errorf("%d: %d requests, %d dead letters, position %s", status, n, len(p.graves.letters),
					p.doc().Checkpoint.Cursor)
			}
			down = false
			time.Sleep(2 * time.Minute)
			relay.Tick(t.Context())
			if !slices.Equal(to.accepted, upTo(5)) {
				t.Errorf("%d: accepted %v", status, to.accepted)
			}
		})
	}
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
