package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// slowDeadLetters is a place for dead letters that takes a while for each, and keeps what it has taken before its
// caller gives up.
type slowDeadLetters struct {
	deadLetters
	takes time.Duration
}

func (l *slowDeadLetters) Put(ctx context.Context, d poller.DeadLetter) error {
	if err := clock.Sleep(ctx, l.takes); err != nil {
		return errors.New("no answer")
	}
	return l.deadLetters.Put(ctx, d)
}

// TestOthersFlowWhileDeadLettersHang: many rows are given up at once, and the place for dead letters does not answer,
// or answers slowly. Each tick waits for it a bounded time in all, and commits: the rows stay parked, the others
// arrive, and the error names the dead letters.
func TestOthersFlowWhileDeadLettersHang(t *testing.T) {
	for name, c := range map[string]struct {
		takes   time.Duration
		written bool
	}{
		"it hangs":   {24 * time.Hour, false},
		"it is slow": {4 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shop := newShop()
				for id := 1; id <= 40; id++ {
					text := "new"
					if id%2 == 0 {
						text = "bad"
					}
					shop.put(id, fmt.Sprint("t", id), text)
				}
				letters := &slowDeadLetters{takes: c.takes}
				p := newProcess(t, nil, shop, func(c *Config) {
					c.Policy.MaxAttempts, c.DeadLetters = 2, letters
				})
				sink := &anySink{got: map[int]int{}}
				relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) {
					c.RejectStatus, c.Budget, c.Timeout = []int{422}, 20*time.Second, 5*time.Second
				})
				relay.Tick(t.Context())
				time.Sleep(time.Second)
				for range 30 {
					id := len(shop.rows) + 1
					shop.put(id, fmt.Sprint("t", id), "new")
					r := relay.Tick(t.Context())
					switch {
					case r.Event == poller.TickComplete || r.Event == poller.FetchEmpty:
					case r.Event != poller.HandlerFailed, !strings.Contains(r.Err.Error(), "dead_letter__kind"):
						t.Fatalf("%s: %v", r.Event, r.Err)
					}
					if at := index(p.doc().Checkpoint.Cursor); at != shop.writes {
						t.Fatalf("the position is %d of %d", at, shop.writes)
					}
					time.Sleep(10 * time.Second)
				}
				if len(sink.got) != len(shop.rows)-20 {
					t.Errorf("%d rows arrived", len(sink.got))
				}
				if n := len(p.parked()) + len(letters.letters); n != 20 || (len(letters.letters) > 0) != c.written {
					t.Errorf("%d rows are parked, %d dead letters", len(p.parked()), len(letters.letters))
				}
				letters.takes = 0
				for range 30 {
					time.Sleep(30 * time.Second)
					relay.Tick(t.Context())
				}
				if len(p.parked()) != 0 || len(letters.letters) != 20 {
					t.Errorf("in the end %d rows are parked, %d dead letters", len(p.parked()), len(letters.letters))
				}
			})
		})
	}
}

// oneHangs is a place for dead letters that never answers for one row.
type oneHangs struct {
	deadLetters
	row int
}

func (l *oneHangs) Put(ctx context.Context, d poller.DeadLetter) error {
	if idOf(&d.Event) == l.row {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.deadLetters.Put(ctx, d)
}

// TestOneDeadLetterThatHangs uses up the time for all of its tick, and does not come first in the next.
func TestOneDeadLetterThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letters := &oneHangs{row: 1}
		_, p := refusing(t, func(c *Config) { c.DeadLetters, c.Policy.MaxAttempts = letters, 2 }, 6, 1, 2, 3)
		for range 4 {
			p.tick()
			time.Sleep(3 * time.Minute)
		}
		if e := p.parked(); len(letters.letters) != 2 || len(e) != 1 || string(e[0].Key) != string(rowKey(1)) {
			t.Errorf("%d dead letters, parked %+v", len(letters.letters), e)
		}
	})
}

// TestSourceOrderWaitsForItsDeadLetter: ordering=source cannot go on without it. The attempts are stored all the
// same, and the error names the dead letter.
func TestSourceOrderWaitsForItsDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.put(1, "t1", "bad")
		letters := &slowDeadLetters{takes: time.Hour}
		p := newProcess(t, nil, shop, func(c *Config) {
			c.Ordering, c.Policy.MaxAttempts, c.DeadLetters = poller.OrderSource, 2, letters
		})
		p.verdict = poison(1)
		p.tick()
		time.Sleep(time.Second)
		r := p.tick()
		if r.Event != poller.HandlerFailed || !strings.Contains(r.Err.Error(), "dead_letter__kind") {
			t.Errorf("%s: %v", r.Event, r.Err)
		}
		if e := p.parked(); len(e) != 1 || e[0].Attempts != 2 {
			t.Errorf("%+v", e)
		}
		letters.takes = 0
		p.tick()
		if at := index(p.doc().Checkpoint.Cursor); at != 1 || len(letters.letters) != 1 || len(p.parked()) != 0 {
			t.Errorf("position %d, %d dead letters, parked %+v", at, len(letters.letters), p.parked())
		}
	})
}
