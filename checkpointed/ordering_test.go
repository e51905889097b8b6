package checkpointed

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
)

// TestSourceOrderWaits: under ordering=source the poller waits at the bad event, and goes on after it.
func TestSourceOrderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := refusing(t, func(c *Config) { c.Ordering = poller.OrderSource }, 5, 3)
		begun := time.Now()
		r := p.tick()
		if r.Event != poller.HandlerFailed || !strings.Contains(r.Err.Error(), "attempt 1 of 5") ||
			!strings.Contains(r.Err.Error(), "next in 1s") || r.Rows != 2 {
			t.Errorf("%s: %v, %d rows", r.Event, r.Err, r.Rows)
		}
		if r = p.tick(); r.Failed() || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "attempt 2 of 5") ||
			len(p.sent) != 3 {
			t.Errorf("before its time: %+v", r)
		}
		for range 160 {
			time.Sleep(time.Second)
			p.tick()
		}
		var tries []int
		for _, sent := range p.sent {
			if sent.row == 3 {
				tries = append(tries, int(sent.at.Sub(begun).Seconds()))
			}
		}
		if !slices.Equal(tries, []int{0, 1, 6, 36, 156}) || !slices.Equal(p.got(poller.Accepted), []int{1, 2, 4, 5}) ||
			len(p.deadLetters.letters) != 1 {
			t.Errorf("tried after %v s, accepted %v", tries, p.got(poller.Accepted))
		}
		if len(p.parked()) != 0 || len(p.objects()) != 0 {
			t.Errorf("left over: %+v", p.parked())
		}
	})
}

// TestSourceOrderKnowsItsAttempts: the event comes again as a live row, with the attempts that were counted.
func TestSourceOrderKnowsItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := refusing(t, func(c *Config) { c.Ordering = poller.OrderSource }, 2, 1)
		p.tick()
		time.Sleep(time.Second)
		b := p.next(p.open())
		if b.Kind != change.Live || b.Events[0].Attempts != 1 || b.Events[1].Attempts != 0 {
			t.Errorf("%+v", b)
		}
	})
}

// TestWithoutOrderNothingWaits: later events of a parked row are sent.
func TestWithoutOrderNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		s.put(1, "a", "new")
		s.put(2, "a", "new")
		p := newProcess(t, nil, s, func(c *Config) { c.Ordering = poller.OrderNone })
		p.verdict = poison(1)
		p.tick()
		s.put(1, "a", "good")
		p.tick()
		if !slices.Equal(p.got(poller.Accepted), []int{2, 1}) || len(p.parked()) != 1 ||
			string(p.parked()[0].OrderKey) != `{"id":1}` {
			t.Errorf("accepted %v, parked %+v", p.got(poller.Accepted), p.parked())
		}
		time.Sleep(time.Second)
		if p.tick(); len(p.parked()) != 0 {
			t.Errorf("%+v", p.parked())
		}
	})
}

// TestSourceOrderGivesUpALateRow: its attempts are counted although new rows are accepted between them.
func TestSourceOrderGivesUpALateRow(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Late = late.Overlap
		shop.fill(1, 3)
		shop.writes = 10
		shop.fill(4, 6)
		p := newProcess(t, nil, shop, func(c *Config) { c.Ordering = poller.OrderSource; c.LateWindow = time.Hour })
		p.verdict = poison(77)
		p.tick()
		shop.rows[77] = &shopRow{id: 77, tenant: "t", text: "bad", cursor: 5} // it drew 5, and commits now
		shop.ordered = nil
		for i := range 200 {
			shop.fill(100+i, 100+i) // a row comes before each tick
			p.tick()
			time.Sleep(30 * time.Second)
		}
		tries := 0
		for _, s := range p.sent {
			if s.row == 77 {
				tries++
			}
		}
		if len(p.deadLetters.letters) == 0 {
			t.Errorf("the bad late row was tried %d times and never given up; parked %+v", tries, p.parked())
		}
	})
}

// TestSourceOrderCountsAttemptsBesideABackfill: rows of the backfill that are accepted say nothing about the live one.
func TestSourceOrderCountsAttemptsBesideABackfill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop, p := refusing(t, func(c *Config) { c.Ordering = poller.OrderSource }, 400, 500)
		p.tick()
		shop.put(500, "t", "bad")
		_, err := p.keeper.Amend(t.Context(), func(d *state.Document) error {
			d.Backfill = &state.Backfill{ID: "b1", To: position(400), PerSecond: 5, StartedAt: time.Now(), By: "ann"}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			p.tick()
			time.Sleep(3 * time.Minute)
		}
		tries := 0
		for _, s := range p.sent {
			if s.row == 500 {
				tries++
			}
		}
		if tries > 5 || len(p.deadLetters.letters) == 0 {
			t.Errorf("row 500 was tried %d times, %d letters", tries, len(p.deadLetters.letters))
		}
	})
}

// TestSourceOrderKnowsAttemptsOfWhatIsReadApart: so does one of an order key that was read apart when ordering=source
// began. Without them each attempt looks like the first, and it is never given up.
func TestSourceOrderKnowsAttemptsOfWhatIsReadApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := busyShop(300)
		keyed := newProcess(t, nil, shop, nil)
		keyed.tick()
		keyed.edit(func(d *state.Document) {
			d.Apart = []state.Apart{{OrderKey: []byte(`{"tenant":"busy"}`), At: position(100)}}
		})
		p := newProcess(t, keyed.memory, shop, func(c *Config) { c.Ordering = poller.OrderSource })
		p.verdict = poison(200)
		p.tick()
		time.Sleep(time.Second)
		b := p.next(p.open())
		if e := &b.Events[0]; b.Kind != change.Apart || idOf(e) != 200 || e.Attempts != 1 {
			t.Errorf("kind %d, row %d, %d attempts", b.Kind, idOf(e), e.Attempts)
		}
	})
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
	quick.Skip(t)
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
			if n := len(to.times[1]); n > 40 || len(p.deadLetters.letters) != 0 || !p.doc().Checkpoint.Cursor.IsStart() {
				t.Errorf("%d: %d requests, %d dead letters, position %s", status, n, len(p.deadLetters.letters),
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
