package checkpointed

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
)

// panicky is a store that panics once where a parked object is written.
type panicky struct {
	state.Store
	armed bool
}

func (s *panicky) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	if s.armed && strings.Contains(key, "parked-") {
		s.armed = false
		panic("a bug in the store's client")
	}
	return s.Store.Create(ctx, key, data)
}

// useStore lets a process keep its state in another store.
func (p *process) useStore(store state.Store) {
	p.t.Helper()
	keeper, err := state.New(state.Config{Store: store, Key: testKey, Poller: "orders", Owner: "app/test",
		TTL: time.Minute})
	if err != nil {
		p.t.Fatal(err)
	}
	p.feed.keeper = keeper
}

// TestPanicInASettlementLosesNothing: the end of the session does not commit a position past an event whose parking was
// not stored.
func TestPanicInASettlementLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.fill(1, 3)
		shop.put(2, "t2", "bad")
		p := newProcess(t, nil, shop, nil)
		p.useStore(&panicky{Store: p.memory, armed: true})
		p.verdict = poison(2)
		s := p.open()
		settled := p.judge(s, p.next(s))
		err := poller.Guard(func() error { // as tick.settle does
			_, err := s.Settle(t.Context(), poller.Settlement{Batches: []poller.Settled{settled}})
			return err
		})
		if err == nil {
			t.Fatal("no panic")
		}
		_ = s.Close(t.Context(), &poller.Report{})
		if at := index(p.doc().Checkpoint.Cursor); at > 0 && len(p.parked()) == 0 {
			t.Errorf("the position is %d, past the rejected row 2, and nothing is parked: row 2 is lost", at)
		}
	})
}

// TestPanicInADeadLetterLosesNothing: the same by the place for dead letters.
func TestPanicInADeadLetterLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		shop.put(2, "t2", "bad")
		p := newProcess(t, nil, shop, func(c *Config) { c.Policy.MaxAttempts = 2 })
		p.verdict = poison(1, 2)
		p.limit = 1
		s := p.open()
		p.settle(s, p.judge(s, p.next(s))) // row 1 is parked
		b := p.judge(s, p.next(s))         // row 2, rejected
		time.Sleep(2 * time.Second)
		r := p.judge(s, p.next(s)) // the retry of row 1: its last attempt
		p.deadLetters.put = func(poller.DeadLetter) error { panic("a bug in the queue's client") }
		if err := poller.Guard(func() error {
			_, err := s.Settle(t.Context(), poller.Settlement{Batches: []poller.Settled{b, r}})
			return err
		}); err == nil {
			t.Fatal("no panic")
		}
		_ = s.Close(t.Context(), &poller.Report{})
		if at, parked := index(p.doc().Checkpoint.Cursor), p.parked(); at > 1 && len(parked) < 2 {
			t.Errorf("the position is %d, past row 2, and parked is %+v: row 2 is lost", at, parked)
		}
	})
}

// TestPanicInTheLastSettlementFreesTheLease: no heartbeat goes on for a session that has ended.
func TestPanicInTheLastSettlementFreesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		p := newProcess(t, nil, shop, nil)
		p.useStore(&panicky{Store: p.memory, armed: true})
		p.verdict = poison(1)
		s := p.open()
		settled := p.judge(s, p.next(s))
		lease := s.lease
		_ = poller.Guard(func() error {
			_, err := s.Settle(t.Context(), poller.Settlement{Batches: []poller.Settled{settled}, Last: true})
			return err
		})
		_ = s.Close(t.Context(), &poller.Report{})
		time.Sleep(10 * time.Minute)
		if _, err := p.feed.Open(t.Context()); err != nil {
			t.Errorf("ten minutes later, in the same process: %v", err)
		}
		_ = lease.Release(t.Context()) // the goroutine
	})
}

// TestPanicInCloseFreesTheLease: the same in Close, which stores what is left.
func TestPanicInCloseFreesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Coarse = true
		shop.put(1, "a", "bad")
		shop.put(2, "a", "new")
		p := newProcess(t, nil, shop, nil)
		store := &panicky{Store: p.memory}
		p.useStore(store)
		p.verdict = poison(1)
		p.tick()
		shop.remove(1)
		time.Sleep(2 * time.Second)
		s := p.open()
		p.next(s) // row 1 is gone: noted, and stored by Close
		lease := s.lease
		store.armed = true
		if err := poller.Guard(func() error { return s.Close(t.Context(), &poller.Report{}) }); err != nil {
			t.Logf("Close panics: %.60s", err)
		}
		time.Sleep(10 * time.Minute)
		if _, err := p.feed.Open(t.Context()); err != nil {
			t.Errorf("ten minutes later, in the same process: %v", err)
		}
		_ = lease.Release(t.Context())
	})
}

type panickyClock struct{ *shop }

func (panickyClock) Horizon(context.Context) (change.Horizon, error) { panic("a bug in the driver") }

// TestPanicInHorizonIsAnError: a bug in a driver does not end the process, and the next tick does not wait for a lock.
func TestPanicInHorizonIsAnError(t *testing.T) {
	shop := newShop()
	shop.describe.Late = late.Overlap
	shop.fill(1, 3)
	p := newProcess(t, nil, shop, func(c *Config) { c.Source = panickyClock{shop} })
	s := p.open()
	p.settle(s, p.judge(s, p.next(s)))
	if err := poller.Guard(func() error {
		_, err := s.Next(t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
		return err
	}); err == nil {
		t.Error("no error")
	}
	if err := s.Close(t.Context(), &poller.Report{}); err != nil {
		t.Error(err)
	}
}

// slowStore takes a while for each write.
type slowStore struct {
	state.Store
	takes time.Duration
}

func (s *slowStore) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	time.Sleep(s.takes)
	return s.Store.Replace(ctx, key, data, version)
}

// slowShop takes a while for each fetch.
type slowShop struct{ *shop }

func (s slowShop) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	time.Sleep(100 * time.Millisecond)
	return s.shop.Fetch(ctx, r, limit)
}

// counted counts what a tick asks its session for, and stops it where that never ends.
type counted struct {
	poller.Feed
	asked int
}

type countedSession struct {
	poller.Session
	c *counted
}

func (c *counted) Open(ctx context.Context) (poller.Session, error) {
	s, err := c.Feed.Open(ctx)
	return countedSession{s, c}, err
}

func (s countedSession) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	if s.c.asked++; s.c.asked > 10_000 {
		return poller.Grant{}, errors.New("asked 10,000 times")
	}
	return s.Session.Next(ctx, limit)
}

// TestShortSettlementIsWaitedFor: while a settlement that fell short is being stored, Next is not asked again and
// again.
func TestShortSettlementIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		shop.put(2, "t2", "bad")
		shop.fill(3, 60)
		p := newProcess(t, nil, shop, func(c *Config) { c.Policy.MaxParked, c.Source = 1, slowShop{shop} })
		p.useStore(&slowStore{p.memory, 3 * time.Second})
		feed := &counted{Feed: p.feed}
		relay := pollertest.Relay(t, feed, &anySink{got: map[int]int{}}, func(c *poller.Config) {
			c.RejectStatus = []int{422}
		})
		r := relay.Tick(t.Context())
		if t.Logf("%s: %v; asked %d times", r.Event, r.Err, feed.asked); feed.asked > 100 {
			t.Errorf("the session was asked %d times", feed.asked)
		}
	})
}
