package checkpointed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// parkedRows says who is parked: for each order key the head's row, then the followers'.
func parkedRows(entries []parking.Entry) string {
	var all []string
	for _, e := range entries {
		text := fmt.Sprintf("%s=%s", e.OrderKey, e.Key)
		for _, f := range e.Followers {
			text += "<" + string(f)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// drain ticks until nothing is parked, and returns the rows that were accepted by then.
func (p *process) drain() []int {
	p.t.Helper()
	for n := 0; len(p.parked()) > 0; n++ {
		if n == 20 {
			p.t.Fatalf("still parked: %s", parkedRows(p.parked()))
		}
		time.Sleep(time.Minute)
		p.tick()
	}
	rows := p.got(poller.Accepted)
	slices.Sort(rows)
	return slices.Compact(rows)
}

// TestRetriesThatProveNothing: a few parked rows fail in each tick, and nothing shows that they are to blame, so that
// they keep their attempts and their places. They are more than a batch holds. The row behind them is tried all the
// same.
func TestRetriesThatProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := refusing(t, nil, 5, 1, 2, 3, 4, 5)
		p.tick()
		p.limit = 2
		p.verdict = func(e *change.Event, _ change.Kind) poller.Outcome {
			if idOf(e) < 5 {
				return poller.Deferred
			}
			return poller.Accepted
		}
		for range 100 {
			time.Sleep(time.Minute)
			if p.tick(); len(p.parked()) < 5 {
				return
			}
		}
		t.Errorf("row 5 was never tried in 100 ticks: %s", parkedRows(p.parked()))
	})
}

// TestRowsOfOneOrderKeyFailTogether: a parked row moved into an order key while a live row of that key was on its
// way. The live row is refused, and then the moved one: both stay parked.
func TestRowsOfOneOrderKeyFailTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		s.put(1, "a", "bad")
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(1, 2)
		p.tick()
		s.put(2, "b", "bad")
		s.put(1, "b", "bad")
		time.Sleep(time.Second)

		p.limit = 1
		session := p.open()
		moved := p.next(session)
		live := p.judge(session, p.next(session))
		if len(moved.Events) != 0 || live.Batch.Kind != change.Live || live.Outcomes[0] != poller.Rejected {
			t.Fatalf("%+v, %+v", moved, live)
		}
		p.settle(session, poller.Settled{Batch: moved})
		retry := p.judge(session, p.next(session))
		if retry.Batch.Kind != change.Retry || retry.Outcomes[0] != poller.Rejected {
			t.Fatalf("%+v", retry)
		}
		p.settle(session, live)
		p.settle(session, retry)
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Fatal(err)
		}
		if got := parkedRows(p.parked()); got != `{"tenant":"b"}={"id":1}<{"id":2}` {
			t.Errorf("parked are %s", got)
		}
		if e := p.parked()[0]; e.Attempts != 1 {
			t.Errorf("the head counts %d attempts", e.Attempts)
		}
		p.verdict = poison()
		if rows := p.drain(); !slices.Equal(rows, []int{1, 2}) {
			t.Errorf("accepted %v", rows)
		}
	})
}

// TestOrderingKeyTakesOverWhatNoneHasParked: under none the row's own key was parked. Under key it waits under its
// order key, and a live row of that key, which was on its way, is refused.
func TestOrderingKeyTakesOverWhatNoneHasParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		s.put(1, "a", "bad")
		none := newProcess(t, nil, s, func(c *Config) { c.Ordering = poller.OrderNone })
		none.verdict = poison(1)
		none.tick()
		if got := parkedRows(none.parked()); got != `{"id":1}={"id":1}` {
			t.Fatalf("parked are %s", got)
		}
		s.put(2, "a", "bad")
		time.Sleep(time.Second)

		p := newProcess(t, none.memory, s, nil)
		p.verdict = poison(1, 2)
		session := p.open()
		moved := p.next(session)
		live := p.judge(session, p.next(session))
		p.settle(session, poller.Settled{Batch: moved})
		p.settle(session, live)
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Fatal(err)
		}
		if got := parkedRows(p.parked()); got != `{"tenant":"a"}={"id":1}<{"id":2}` {
			t.Errorf("parked are %s", got)
		}
		p.verdict = poison()
		if rows := p.drain(); !slices.Equal(rows, []int{1, 2}) {
			t.Errorf("accepted %v", rows)
		}
	})
}

// TestMovedRowIsTriedUnderItsNewOrderKey: the entry of its old order key ends, and what waited there goes on.
func TestMovedRowIsTriedUnderItsNewOrderKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		s.put(1, "a", "bad")
		s.put(2, "a", "new")
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(1)
		p.tick()
		s.put(1, "b", "bad")
		time.Sleep(time.Second)
		session := p.open()
		p.settle(session, poller.Settled{Batch: p.next(session)})
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Fatal(err)
		}
		if got := parkedRows(p.parked()); got != `{"tenant":"a"}={"id":2} {"tenant":"b"}={"id":1}` {
			t.Errorf("parked are %s", got)
		}
		if p.tick(); !slices.Equal(p.got(poller.Accepted), []int{2}) {
			t.Errorf("accepted %v", p.got(poller.Accepted))
		}
	})
}

// spelled is a source whose database holds keys equal that are written differently: the row comes back in its own
// spelling.
type spelled struct{ *shop }

func (s spelled) Reread(ctx context.Context, keys [][]byte) ([]change.Event, error) {
	events, err := s.shop.Reread(ctx, keys)
	for i := range events {
		events[i].Key = []byte(strings.ReplaceAll(string(events[i].Key), `"id":`, `"id": `))
	}
	return events, err
}

// TestHeadInAnotherSpellingIsGivenUp: the attempt says whose failure it is, not the spelling of the row's key.
func TestHeadInAnotherSpellingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		s.put(1, "a", "bad")
		p := newProcess(t, nil, s, func(c *Config) { c.Source, c.Policy.MaxAttempts = spelled{s}, 3 })
		p.verdict = poison(1)
		p.tick()
		p.drain()
		if len(p.deadLetters.letters) != 1 || p.deadLetters.letters[0].Attempts != 3 {
			t.Errorf("%+v", p.deadLetters.letters)
		}
	})
}

// slowSink answers as anySink does, after a while.
type slowSink struct {
	anySink
	takes time.Duration
}

func (s *slowSink) Deliver(ctx context.Context, d change.Delivery) error {
	if err := clock.Sleep(ctx, s.takes); err != nil {
		return err
	}
	return s.anySink.Deliver(ctx, d)
}

// TestRowOnItsWayWhileAnotherEntersItsOrderKey: the whole tick, with a receiver that takes 0.6s and a store that
// takes half of it. A row that ordering=none has parked enters its order key while a row of that key is on its way,
// and that one is refused.
func TestRowOnItsWayWhileAnotherEntersItsOrderKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		s.put(1, "a", "bad")
		store := &slowStore{Store: memstore.New()}
		none := newProcess(t, store, s, func(c *Config) { c.Ordering = poller.OrderNone })
		none.verdict = poison(1)
		none.tick()
		s.put(2, "a", "bad")
		s.put(3, "c", "new") // evidence
		time.Sleep(time.Second)

		store.takes = 300 * time.Millisecond
		p := newProcess(t, store, s, nil)
		sink := &slowSink{anySink{got: map[int]int{}}, 600 * time.Millisecond}
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) { c.RejectStatus, c.RequestEvents = []int{422}, 1 })
		relay.Tick(t.Context())
		at := index(p.doc().Checkpoint.Cursor)
		if got := parkedRows(p.parked()); got != `{"tenant":"a"}={"id":1}<{"id":2}` || at != s.writes {
			t.Errorf("the position is %d of %d, parked are %s", at, s.writes, got)
		}
		s.put(4, "c", "new")
		for id := range 2 {
			s.rows[id+1].text = "good"
		}
		for range 5 {
			time.Sleep(time.Minute)
			relay.Tick(t.Context())
		}
		if sink.got[1] == 0 || sink.got[2] == 0 {
			t.Errorf("arrived %v", sink.got)
		}
	})
}

// TestRowOfOrderingSourceIsParkedOnce: the poller waits at a row (ordering=source), and goes on with ordering=key. The
// row is refused at its place before that attempt is due: it is one entry, with all of its attempts.
func TestRowOfOrderingSourceIsParkedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		p := newProcess(t, nil, shop, func(c *Config) { c.Ordering = poller.OrderSource })
		p.verdict = poison(1)
		p.tick()
		p = newProcess(t, p.memory, shop, func(c *Config) { c.Policy.MaxAttempts = 3 })
		p.verdict = poison(1)
		p.tick()
		if now := p.parked(); len(now) != 1 || now[0].Attempts != 2 || string(now[0].OrderKey) == "[]" {
			t.Errorf("parked: %+v", now)
		}
		for range 20 {
			time.Sleep(3 * time.Minute)
			p.tick()
		}
		if n := len(p.deadLetters.letters); n != 1 || len(p.sent) != 2 {
			t.Errorf("%d dead letters of one event, which was sent %d times more (max_attempts 3)", n, len(p.sent))
		}
	})
}

// TestRowDoesNotWaitForItself: a parked row gets another order key, and is refused there before its retry sees that.
// The entry then moves to where the row is the head already.
func TestRowDoesNotWaitForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Coarse = true
		shop.put(1, "t1", "bad")
		p := newProcess(t, nil, shop, func(c *Config) { c.Policy.MaxAttempts = 3 })
		p.verdict = poison(1)
		p.tick()
		shop.put(1, "t2", "bad")
		for range 20 {
			p.tick()
			time.Sleep(3 * time.Minute)
		}
		if n := len(p.deadLetters.letters); n != 1 || len(p.sent) != 4 {
			t.Errorf("%d dead letters of one row, which was sent %d times (once, and max_attempts 3)", n, len(p.sent))
		}
	})
}
