package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// These tests run whole ticks over a feed with parking: what is promised about poison rows and outages (issue 3, §2).

// destination answers each event by its row, and keeps what it accepted.
type destination struct {
	mu       sync.Mutex
	answer   func(row int) int // an HTTP status; 200 accepts, naming does but for this row
	again    time.Duration     // Retry-After of a 429
	accepted []int
	times    map[int][]time.Duration // when a row was sent alone and not accepted
	begun    time.Time
}

func newDestination(answer func(row int) int) *destination {
	return &destination{answer: answer, times: map[int][]time.Duration{}, begun: time.Now()}
}

// naming stands for a 200 that names the row in batchItemFailures.
const naming = -1

// Deliver answers for the request as a whole: one bad event fails them all, unless it is named.
func (d *destination) Deliver(_ context.Context, v change.Delivery) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var bad []int
	for i := range v.Events {
		row := idOf(&v.Events[i])
		if status := d.answer(row); status != 200 {
			if len(v.Events) == 1 {
				d.times[row] = append(d.times[row], time.Since(d.begun))
			}
			if status == naming {
				bad = append(bad, i)
				continue
			}
			cause := poller.Unavailable
			if status < 500 && status != 429 {
				cause = poller.Refused
			}
			failed := poller.FailAll(len(v.Events), cause, status, fmt.Errorf("HTTP %d", status))
			if status == 429 {
				failed.RetryAfter = d.again
			}
			return failed
		}
	}
	for i := range v.Events {
		if !slices.Contains(bad, i) {
			d.accepted = append(d.accepted, idOf(&v.Events[i]))
		}
	}
	if bad != nil {
		return pollertest.Named(bad...)
	}
	return nil
}

// rows returns the accepted rows, each once, sorted.
func (d *destination) rows() []int {
	rows := slices.Clone(d.accepted)
	slices.Sort(rows)
	return slices.Compact(rows)
}

func upTo(n int, but ...int) []int {
	var rows []int
	for i := 1; i <= n; i++ {
		if !slices.Contains(but, i) {
			rows = append(rows, i)
		}
	}
	return rows
}

// ticking returns a relay over p's feed.
func (p *process) ticking(to poller.Output) *poller.Relay {
	return pollertest.Relay(p.t, p.feed, to, func(c *poller.Config) {
		c.Fetch.Rows, c.RequestEvents, c.RejectStatus, c.Retries = 100, 25, []int{400, 413, 422}, 2
	})
}

// TestTicksWithAPoisonRow: 99 of 100 arrive at once; the bad one is tried at its times and is then a dead letter,
// whether the destination's status says that it refuses it, or seems to say that it is unavailable.
func TestTicksWithAPoisonRow(t *testing.T) {
	for _, status := range []int{422, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.fill(1, 100)
				p := newProcess(t, nil, s, nil)
				to := newDestination(func(row int) int {
					if row == 37 {
						return status
					}
					return 200
				})
				relay := p.ticking(to)
				r := relay.Tick(t.Context())
				if r.Failed() || !slices.Equal(to.rows(), upTo(100, 37)) || r.Rejected != 1 || r.Parked != 1 {
					t.Fatalf("%s: %v; %d rejected, %d parked, accepted %d", r.Event, r.Err, r.Rejected, r.Parked, len(to.rows()))
				}
				row := 101
				for time.Since(to.begun) < 200*time.Second {
					time.Sleep(time.Second)
					s.fill(row, row) // the table is not quiet: each tick brings evidence
					if r := relay.Tick(t.Context()); r.Failed() {
						t.Fatalf("after %s: %s: %v", time.Since(to.begun), r.Event, r.Err)
					}
					row++
				}
				if len(p.deadLetters.letters) != 1 || p.deadLetters.letters[0].Attempts != 5 || len(p.parked()) != 0 {
					t.Errorf("%d dead letters, parked %+v", len(p.deadLetters.letters), p.parked())
				}
				if !slices.Equal(to.rows(), upTo(row-1, 37)) {
					t.Errorf("accepted %d of %d", len(to.rows()), row-2)
				}
				if status == 422 {
					d := p.deadLetters.letters[0]
					if !d.First.Equal(to.begun) || d.Last.Sub(to.begun) != 156*time.Second || d.Status != 422 ||
						d.Cause != poller.Refused || idOf(&d.Event) != 37 || d.Table != "orders" {
						t.Errorf("%+v", d)
					}
					var at []int
					for _, d := range to.times[37] {
						at = append(at, int(d.Round(time.Second).Seconds()))
					}
					if at = slices.Compact(at); !slices.Equal(at, []int{0, 1, 6, 36, 156}) {
						t.Errorf("tried alone after %v s", to.times[37])
					}
				}
			})
		})
	}
}

// TestTicksThroughAnOutage: half an hour without the destination at one insert a second loses nothing and gives nothing
// up.
func TestTicksThroughAnOutage(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		p := newProcess(t, nil, s, nil)
		down := true
		to := newDestination(func(int) int {
			if down {
				return 503
			}
			return 200
		})
		relay := p.ticking(to)
		inserts := 0
		insert := time.NewTicker(time.Second)
		defer insert.Stop()
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			for {
				select {
				case <-insert.C:
					inserts++
					s.fill(inserts, inserts)
				case <-stop:
					return
				}
			}
		}()
		for time.Since(to.begun) < 30*time.Minute {
			time.Sleep(10 * time.Second)
			relay.Tick(t.Context())
		}
		down = false
		insert.Stop()
		synctest.Wait()
		time.Sleep(time.Minute) // the longest pause of a destination that was down
		for range 2 {
			relay.Tick(t.Context())
		}
		if !slices.Equal(to.rows(), upTo(inserts)) || inserts < 1800 || len(p.deadLetters.letters) != 0 ||
			len(p.parked()) != 0 {
			t.Errorf("accepted %d of %d, %d dead letters", len(to.rows()), inserts, len(p.deadLetters.letters))
		}
		if !slices.IsSorted(to.accepted) {
			t.Log("rows of different keys arrived out of order, as they may")
		}
	})
}

// TestTicksWithATenantThatIsStuck: 600 rows of one tenant wait for a bad one, and the other tenants' flow at once.
func TestTicksWithATenantThatIsStuck(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		for id := 1; id <= 600; id++ {
			s.put(id, "big", "new")
		}
		for id := 601; id <= 700; id++ {
			s.put(id, fmt.Sprint("small", id%7), "new")
		}
		p := newProcess(t, nil, s, func(c *Config) { c.Policy.MaxParked = 800 })
		to := newDestination(func(row int) int {
			if row == 1 {
				return 500
			}
			return 200
		})
		relay := p.ticking(to)
		if r := relay.Tick(t.Context()); r.Failed() || !slices.Equal(to.rows(), upTo(700)[600:]) || r.Parked != 600 {
			t.Fatalf("%s: %v; %d parked, accepted %d", r.Event, r.Err, r.Parked, len(to.rows()))
		}
		for row := 701; len(p.deadLetters.letters) == 0 || len(p.parked()) > 0; row++ {
			if time.Since(to.begun) > time.Hour {
				t.Fatalf("%d dead letters, %d accepted", len(p.deadLetters.letters), len(to.rows()))
			}
			time.Sleep(10 * time.Second)
			s.put(row, "small", "new")
			if r := relay.Tick(t.Context()); r.Failed() {
				t.Fatalf("%s: %v", r.Event, r.Err)
			}
		}
		var big []int
		for _, row := range to.accepted {
			if row <= 600 {
				big = append(big, row)
			}
		}
		if !slices.Equal(big, upTo(600, 1)) {
			t.Errorf("the tenant's rows arrived as %v …", big[:min(len(big), 10)])
		}
	})
}

// TestEachEventHasItsOwnReason: of the events that one answer names, each is set aside with what happened to its own;
// what the output says nothing about in particular has the answer's reason.
func TestEachEventHasItsOwnReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 30)
		p := newProcess(t, nil, s, nil)
		own := map[int]error{3: errors.New("too large"), 7: errors.New("no route"), 9: nil}
		relay := p.ticking(pollertest.Func(func(_ context.Context, d change.Delivery) error {
			said := &poller.DeliveryError{Err: errors.New("some of them failed")}
			for i := range d.Events {
				if err, bad := own[idOf(&d.Events[i])]; bad {
					said.Failed = append(said.Failed, poller.FailedEvent{Index: i, Cause: poller.Impossible, Named: true, Err: err})
				}
			}
			if len(said.Failed) == 0 {
				return nil
			}
			return said
		}))
		if r := relay.Tick(t.Context()); r.Failed() || r.Rejected != 3 {
			t.Fatalf("%s: %v; %d rejected", r.Event, r.Err, r.Rejected)
		}
		reasons := map[string]string{}
		for _, e := range p.parked() {
			reasons[string(e.Key)] = e.Reason
		}
		if want := map[string]string{`{"id":3}`: "too large", `{"id":7}`: "no route",
			`{"id":9}`: "some of them failed"}; !maps.Equal(reasons, want) {
			t.Errorf("reasons %v, want %v", reasons, want)
		}
	})
}
