package checkpointed

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
)

// TestNewVersionOfABlockedRowHasItsOwnAttempts: under ordering=none nothing waits for the blocked one.
func TestNewVersionOfABlockedRowHasItsOwnAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		p := newProcess(t, nil, shop, func(c *Config) {
			c.Ordering, c.Policy.Block, c.Policy.MaxAttempts = poller.OrderNone, true, 2
		})
		p.verdict = poison(1)
		for range 3 {
			p.tick()
			time.Sleep(time.Minute)
		}
		if len(p.deadLetters.letters) != 1 || !p.parked()[0].Blocked {
			t.Fatalf("%d letters, %+v", len(p.deadLetters.letters), p.parked())
		}
		shop.put(1, "t1", "bad again")
		p.tick()
		n := len(p.sent)
		for range 10 {
			p.tick()
			time.Sleep(time.Minute)
		}
		if len(p.sent) == n && len(p.deadLetters.letters) == 1 {
			t.Errorf("version 2 was tried once, is neither tried again nor a dead letter: %+v", p.parked())
		}
	})
}

// TestChangeOfABlockedHeadIsKept: as a follower, because `rowrelay deadletter purge` ends the head.
func TestChangeOfABlockedHeadIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Coarse = true
		shop.put(1, "a", "bad")
		p := newProcess(t, nil, shop, func(c *Config) { c.Policy.Block, c.Policy.MaxAttempts = true, 1 })
		p.verdict = poison(1)
		p.tick()
		shop.put(2, "a", "new")
		p.tick()
		shop.put(1, "a", "good")
		p.tick()
		e := p.parked()[0]
		if !e.Blocked {
			t.Fatalf("%+v", e)
		}
		// What `deadletter purge` does (admin/parked.go, let): the first follower becomes the head.
		data, err := parking.Encode([]parking.Entry{{OrderKey: e.OrderKey, Key: e.Followers[0], Followers: e.Followers[1:]}})
		if err != nil {
			t.Fatal(err)
		}
		shown, err := p.keeper.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lease, err := p.keeper.Acquire(t.Context(), shown)
		if err != nil {
			t.Fatal(err)
		}
		name, err := lease.PutObject(t.Context(), parking.Kind, data)
		if err == nil {
			at := shown.Doc.Checkpoint.Cursor
			ref := &state.ObjectRef{Object: name, Count: len(e.Followers)}
			err = lease.Commit(t.Context(), state.Commit{From: at, To: at, Parked: ref, Release: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			p.tick()
			time.Sleep(time.Minute)
		}
		for _, s := range p.sent {
			if s.row == 1 && s.text == "good" && s.outcome == poller.Accepted {
				return
			}
		}
		t.Errorf("the corrected row 1 was never sent: %+v, parked %+v", p.sent, p.parked())
	})
}

// TestMovedRowWaitsInItsNewOrderKey: the retry of a row that has another order key by now does not overtake what that
// one is parked for.
func TestMovedRowWaitsInItsNewOrderKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Coarse = true
		shop.put(1, "a", "bad")
		shop.put(2, "b", "bad")
		p := newProcess(t, nil, shop, func(c *Config) { c.Policy.Delays = []time.Duration{time.Second, time.Minute} })
		sink := &orderSink{bad: map[int]bool{1: true, 2: true}}
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) { c.RejectStatus = []int{422} })
		shop.put(3, "c", "new") // evidence
		relay.Tick(t.Context()) // a and b are parked at rows 1 and 2
		shop.put(1, "b", "moved")
		relay.Tick(t.Context()) // row 1 is shown after row 2 in b: absorbed
		t.Logf("parked: %+v", p.parked())
		sink.bad[1] = false
		time.Sleep(2 * time.Second)
		relay.Tick(t.Context()) // retries of both; 1 would be accepted, 2 still fails
		sink.bad[2] = false
		for range 5 {
			time.Sleep(time.Minute)
			relay.Tick(t.Context())
		}
		t.Log(sink.order)
		if strings.Join(sink.order, " ") != "3:c 2:b 1:b" && strings.Join(sink.order, " ") != "3:c 2:b 1:b 1:b" {
			t.Errorf("row 1 in tenant b, shown after row 2 of tenant b, was accepted first: %v", sink.order)
		}
	})
}

// orderSink answers 422 to requests with a bad row, and keeps the order of what it accepts, as row:tenant.
type orderSink struct {
	mu    sync.Mutex
	bad   map[int]bool
	order []string
}

func (s *orderSink) Deliver(_ context.Context, d change.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range d.Events {
		if s.bad[idOf(&d.Events[i])] {
			return poller.FailAll(len(d.Events), poller.Refused, 422, errors.New("422"))
		}
	}
	for i := range d.Events {
		e := &d.Events[i]
		tenant := strings.TrimSuffix(strings.TrimPrefix(string(e.OrderKey), `{"tenant":"`), `"}`)
		s.order = append(s.order, string(rune('0'+idOf(e)))+":"+tenant)
	}
	return nil
}
