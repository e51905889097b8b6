package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// anySink answers 422 to requests with a row whose text is bad, and counts what it accepts.
type anySink struct {
	mu  sync.Mutex
	got map[int]int
}

func (s *anySink) Deliver(_ context.Context, d change.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range d.Events {
		if textOf(&d.Events[i]) == "bad" {
			return poller.FailAll(len(d.Events), poller.Refused, 422, errors.New("422"))
		}
	}
	for i := range d.Events {
		s.got[idOf(&d.Events[i])]++
	}
	return nil
}

// TestOthersFlowWhileDeadLettersCannotBeWritten: it is tried again after the last delay, and each tick says so.
func TestOthersFlowWhileDeadLettersCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		shop.fill(2, 5)
		p := newProcess(t, nil, shop, nil)
		p.deadLetters.put = func(poller.DeadLetter) error { return errors.New("403") }
		sink := &anySink{got: map[int]int{}}
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) { c.RejectStatus = []int{422} })
		for range 6 { // attempts 1 to 5
			relay.Tick(t.Context())
			time.Sleep(150 * time.Second)
		}
		before := index(p.doc().Checkpoint.Cursor)
		shop.fill(10, 200)
		for range 20 {
			r := relay.Tick(t.Context())
			if r.Event == poller.TickComplete {
				t.Log("complete")
			}
			time.Sleep(time.Minute)
		}
		at := index(p.doc().Checkpoint.Cursor)
		t.Logf("position %d, then %d of %d; row 10 was sent %d times, row 15 %d times", before, at, shop.writes, sink.got[10],
			sink.got[15])
		if at != shop.writes {
			t.Errorf("one row whose dead letter cannot be written stops all others: position %d of %d after 20 ticks", at,
				shop.writes)
		}
	})
}

// slowRefusal takes its time for a request that it refuses.
type slowRefusal struct {
	anySink
	takes time.Duration
}

func (s *slowRefusal) Deliver(ctx context.Context, d change.Delivery) error {
	err := s.anySink.Deliver(ctx, d)
	if err != nil {
		time.Sleep(s.takes)
	}
	return err
}

// TestOthersFlowBesideMoreRetriesThanATickCanMake: where all parked rows are due again before each was tried once, live
// rows take turns with them.
func TestOthersFlowBesideMoreRetriesThanATickCanMake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		for i := range 500 {
			shop.put(2*i, fmt.Sprint("bad", i), "bad")
			shop.put(2*i+1, fmt.Sprint("good", i), "new")
		}
		unread := &badFetch{shop: shop}
		p := newProcess(t, nil, shop, func(c *Config) {
			c.Source, c.Policy.MaxAttempts, c.Policy.Delays = unread, 100, []time.Duration{5 * time.Second}
		})
		sink := &slowRefusal{anySink: anySink{got: map[int]int{}}}
		relay := pollertest.Relay(t, p.feed, sink, pollertest.Hundred)
		for relay.Tick(t.Context()); index(p.doc().Checkpoint.Cursor) < shop.writes; {
			relay.Tick(t.Context())
		}
		sink.takes = time.Second
		shop.fill(3000, 3200)
		for range 10 {
			time.Sleep(10 * time.Second)
			relay.Tick(t.Context())
		}
		if at := index(p.doc().Checkpoint.Cursor); at != shop.writes {
			t.Errorf("position %d of %d", at, shop.writes)
		}
		unread.err = errors.New("no such table")
		time.Sleep(10 * time.Second)
		if r := relay.Tick(t.Context()); r.Event != poller.FetchFailed {
			t.Errorf("live rows cannot be read, and the tick ends as %s: %v", r.Event, r.Err)
		}
	})
}

// badFetch cannot read live rows while err says why.
type badFetch struct {
	*shop
	err error
}

func (b *badFetch) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	if b.err != nil {
		return change.Page{}, b.err
	}
	return b.shop.Fetch(ctx, r, limit)
}

type badReread struct{ *shop }

func (badReread) Reread(context.Context, [][]byte) ([]change.Event, error) {
	return nil, errors.New("timeout: no index on the key")
}

// TestOthersFlowWhileParkedRowsCannotBeRead: the tick fails, at its end.
func TestOthersFlowWhileParkedRowsCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		p := newProcess(t, nil, shop, func(c *Config) { c.Source = badReread{shop} })
		p.verdict = poison(1)
		p.tick()
		shop.fill(2, 20)
		for range 30 {
			time.Sleep(time.Minute)
			if r := p.tick(); r.Event != poller.FetchFailed {
				t.Fatalf("%s: %v", r.Event, r.Err)
			}
		}
		if at := index(p.doc().Checkpoint.Cursor); at != shop.writes {
			t.Errorf("position %d of %d", at, shop.writes)
		}
	})
}

// unreadable is a shop that refuses every read by key that names a row: it has no place in the order any more, or its
// key is from before source__key was changed.
type unreadable struct {
	*shop
	row int
	err error
}

func (s unreadable) Reread(ctx context.Context, keys [][]byte) ([]change.Event, error) {
	if slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(rowKey(s.row)) }) {
		return nil, s.err
	}
	return s.shop.Reread(ctx, keys)
}

// TestOthersAreRetriedBesideARowThatCannotBeRead: a head, or a row that waits for a head that is gone. It stays parked,
// and the tick fails at its end.
func TestOthersAreRetriedBesideARowThatCannotBeRead(t *testing.T) {
	for _, fault := range []error{poller.ErrNormalize, poller.ErrConfig} {
		for _, row := range []int{1, 2} {
			synctest.Test(t, func(t *testing.T) {
				shop := newShop()
				shop.describe.Coarse = true
				for i, tenant := range []string{"a", "a", "b", "c"} {
					shop.put(i+1, tenant, "new")
				}
				p := newProcess(t, nil, shop, func(c *Config) { c.Source = unreadable{shop, row, fault} })
				p.verdict = poison(1, 3, 4)
				p.tick()
				gone := 0
				if row == 2 {
					shop.remove(1)
					gone = 1
				}
				p.verdict = poison()
				time.Sleep(time.Minute)
				r := p.tick()
				if r.Gone != gone || !errors.Is(r.Err, fault) || !strings.Contains(r.Err.Error(), string(rowKey(row))) {
					t.Errorf("%d are gone, %v", r.Gone, r.Err)
				}
				if got := p.got(poller.Accepted); !slices.Equal(got, []int{3, 4}) {
					t.Errorf("accepted %v", got)
				}
				if e := p.parked(); len(e) != 1 || string(e[0].Key) != string(rowKey(row)) {
					t.Errorf("parked %+v", e)
				}
			})
		}
	}
}

// TestHangingRetryHoldsUpNoLiveRow: every tick is a process of its own, which has no time for a verdict about a parked
// row that hangs at the receiver. The position moves on all the same.
func TestHangingRetryHoldsUpNoLiveRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.fill(1, 3)
		p := newProcess(t, nil, shop, nil)
		p.verdict = poison(1)
		p.tick()
		var mu sync.Mutex
		sent := map[int]int{}
		hangs := pollertest.Func(func(ctx context.Context, d change.Delivery) error {
			for i := range d.Events {
				id := idOf(&d.Events[i])
				mu.Lock()
				sent[id]++
				mu.Unlock()
				if id == 1 {
					<-ctx.Done()
					return context.Cause(ctx)
				}
			}
			return nil
		})
		for tick := range 10 {
			shop.put(100+tick, "t", "new")
			time.Sleep(time.Minute)
			p = newProcess(t, p.memory, shop, nil)
			pollertest.Relay(t, p.feed, hangs, func(c *poller.Config) { c.Budget = 50 * time.Second }).Tick(t.Context())
		}
		if at := index(p.doc().Checkpoint.Cursor); at != shop.writes {
			t.Errorf("the position is %d of %d", at, shop.writes)
		}
		for tick := range 10 {
			if n := sent[100+tick]; n != 1 {
				t.Errorf("row %d was sent %d times", 100+tick, n)
			}
		}
	})
}

// TestRetriesDoNotUseUpMaxBatches: a tenant with followers whose retries are always due, and max_batches=1.
func TestRetriesDoNotUseUpMaxBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Coarse = true
		shop.put(1, "a", "bad")
		for id := 2; id <= 40; id++ {
			shop.put(id, "a", "new")
		}
		p := newProcess(t, nil, shop, func(c *Config) { c.Policy.MaxAttempts = 2 })
		sink := &anySink{got: map[int]int{}}
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) {
			c.RejectStatus = []int{422}
			c.MaxBatches = 1
			c.Fetch.Rows = 50
		})
		shop.put(100, "b", "new")
		relay.Tick(t.Context())
		time.Sleep(2 * time.Second)
		shop.put(101, "b", "new") // evidence
		ticks := 0
		for sink.got[101] == 0 && ticks < 100 {
			relay.Tick(t.Context())
			ticks++
			time.Sleep(time.Minute)
		}
		if ticks > 5 {
			t.Errorf("row 101 of another tenant took %d ticks", ticks)
		}
	})
}

// TestDeletedTenantIsForgottenSoon: the followers of a head that is gone are read together.
func TestDeletedTenantIsForgottenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Coarse = true
		shop.put(1, "a", "bad")
		for id := 2; id <= 30; id++ {
			shop.put(id, "a", "new")
		}
		p := newProcess(t, nil, shop, nil)
		p.verdict = poison(1)
		p.tick()
		for id := 1; id <= 30; id++ {
			shop.remove(id)
		}
		ticks := 0
		for len(p.parked()) > 0 && ticks < 100 {
			time.Sleep(time.Minute)
			p.tick()
			ticks++
		}
		if ticks > 1 {
			t.Errorf("30 rows that are gone took %d ticks", ticks)
		}
	})
}

// TestAttemptOfAClockThatWasAhead: an instance whose clock was a day ahead parked a row; the next attempt does not wait
// a day.
func TestAttemptOfAClockThatWasAhead(t *testing.T) {
	for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderSource} {
		t.Run(string(ordering), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shop := newShop()
				shop.put(1, "t1", "bad")
				p := newProcess(t, nil, shop, func(c *Config) { c.Ordering = ordering })
				p.verdict = poison(1)
				s := p.open()
				settled := p.judge(s, p.next(s))
				settled.Rejections[0] = poller.Rejection{Cause: poller.Refused, Reason: "bad", At: time.Now().Add(24 * time.Hour)}
				_, _ = s.Settle(t.Context(), poller.Settlement{Batches: []poller.Settled{settled}}) // source order stops there
				_ = s.Close(t.Context(), &poller.Report{})
				p.verdict = poison()
				for range 30 {
					time.Sleep(time.Minute)
					p.tick()
				}
				if n := len(p.got(poller.Accepted)); n == 0 {
					t.Errorf("half an hour after a delay of 1s nothing was tried: %+v", p.parked())
				}
			})
		})
	}
}

// TestMaxParkedThroughTheTick: the bound in the middle of a settlement loses nothing, and it goes on when there is
// room.
func TestMaxParkedThroughTheTick(t *testing.T) {
	quick.Skip(t)
	for _, coarse := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			shop := newShop()
			shop.describe.Coarse = coarse
			for id := 1; id <= 60; id++ {
				text := "new"
				if id%3 == 0 {
					text = "bad"
				}
				shop.put(id, "t"+string(rune('a'+id%7)), text)
			}
			p := newProcess(t, nil, shop, func(c *Config) { c.Policy.MaxParked = 4 })
			sink := &anySink{got: map[int]int{}}
			relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) { c.RejectStatus = []int{422} })
			for range 400 {
				relay.Tick(t.Context())
				time.Sleep(10 * time.Second)
			}
			dead := map[int]bool{}
			for _, d := range p.deadLetters.letters {
				dead[idOf(&d.Event)] = true
			}
			most := 0
			for id := 1; id <= 60; id++ {
				if sink.got[id] == 0 && !dead[id] {
					t.Errorf("coarse %v: row %d is lost", coarse, id)
				}
				most = max(most, sink.got[id])
			}
			t.Logf("coarse %v: at most %d times, %d dead letters, position %s, parked %d", coarse, most, len(p.deadLetters.letters),
				p.doc().Checkpoint.Cursor, len(p.parked()))
		})
	}
}
