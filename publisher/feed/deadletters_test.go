package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// slowLetters is a place for dead letters that takes a while for each. It keeps nothing that its caller gave up.
type slowLetters struct {
	letters
	takes time.Duration
}

func (l *slowLetters) Put(ctx context.Context, d poller.DeadLetter) error {
	if err := clock.Sleep(ctx, l.takes); err != nil {
		return errors.New("no answer")
	}
	return l.letters.Put(ctx, d)
}

// TestAcceptedEventsAreMarkedWhileDeadLettersHang: the last attempt of many events fails at once, and the place for
// dead letters does not answer, or answers slowly. Each tick marks what was accepted in it. The failed events come
// again, until each is a dead letter.
func TestAcceptedEventsAreMarkedWhileDeadLettersHang(t *testing.T) {
	for name, takes := range map[string]time.Duration{"it hangs": 24 * time.Hour, "it is slow": 4 * time.Second} {
		for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
			t.Run(fmt.Sprint(name, " ", strategy), func(t *testing.T) {
				in(t, func(t *testing.T, db *fakeDB) {
					cfg := testConfig(strategy)
					place := &slowLetters{takes: takes}
					cfg.Policy.MaxAttempts, cfg.DeadLetters = 2, place
					to := newTarget(t)
					add := func(bad bool) {
						seq := int64(len(db.rows) + 1)
						db.add(fmt.Sprint("a", seq))
						to.refuses[seq] = bad
					}
					for n := range 40 {
						add(n%2 == 1)
					}
					relay := relayTo(t, cfg, db, to, time.Second)
					relay.Tick(t.Context())
					for range 30 {
						add(false)
						r := relay.Tick(t.Context())
						// A settlement that took long may leave the tick no time to find out whose fault a failure is.
						if r.Event != poller.TickComplete && r.Event != poller.FetchEmpty &&
							(r.Event != poller.HandlerFailed || !strings.Contains(r.Err.Error(), "dead letter") &&
								!strings.Contains(r.Err.Error(), "no attempt is counted")) {
							t.Fatalf("the tick ends as %s: %v", r.Event, r.Err)
						}
						for i, state := range db.states() {
							seq := int64(i + 1)
							if _, accepted := to.accepted[seq]; accepted == to.refuses[seq] ||
								accepted != (state == event.Published) {
								t.Fatalf("event %d: accepted %t, %s", seq, accepted, state)
							}
						}
						time.Sleep(10 * time.Second)
					}
					place.takes = 0
					for range 10 {
						relay.Tick(t.Context())
						time.Sleep(10 * time.Second)
					}
					if len(place.got) != 20 || db.change(event.Dead, event.Discarded) != 20 || to.repeated > 0 {
						t.Errorf("in the end: %d dead letters, %d duplicates", len(place.got), to.repeated)
					}
				})
			})
		}
	}
}

// TestMarksKeepTheirTimeWhileDeadLettersHang: a settlement leaves time for its marks, however soon its deadline is.
func TestMarksKeepTheirTimeWhileDeadLettersHang(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		cfg := testConfig(claims.Leader)
		cfg.Policy.MaxAttempts, cfg.DeadLetters = 1, &slowLetters{takes: time.Hour}
		db.add("a", "b", "b", "c")
		s := open(t, cfg, db.connect())
		g := s.Expect("1 2 3 4")
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		if n, err := s.Outcomes(ctx, "arwr", g); n != 4 || err != nil {
			t.Errorf("%d are done with, %v", n, err)
		}
		s.states("xFWF")
		if left, _ := ctx.Deadline(); time.Until(left) < 5*time.Second {
			t.Errorf("%s were left for the marks", time.Until(left))
		}
		var report poller.Report
		feedtest.WantFault(t, s.Close(t.Context(), &report), poller.HandlerFailed, "dead letter", "no answer")
		if len(report.DeadLettered) > 0 {
			t.Errorf("%+v", report.DeadLettered)
		}
	})
}

// TestSourceOrderSaysThatItWaitsForADeadLetter: the event's own failure is not what the tick has to tell then.
func TestSourceOrderSaysThatItWaitsForADeadLetter(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.ordering = poller.OrderSource
		cfg := testConfig(claims.Leader)
		cfg.Ordering, cfg.Policy.MaxAttempts = poller.OrderSource, 1
		cfg.DeadLetters = &slowLetters{takes: time.Hour}
		db.add("a", "b")
		s := open(t, cfg, db.connect())
		n, err := s.Outcomes(t.Context(), "r-", s.Expect("1 2"))
		feedtest.WantFault(t, err, poller.HandlerFailed, "dead letter of event key-1", "no answer")
		if n != 0 {
			t.Errorf("%d are done with", n)
		}
		s.states("FP")
		_ = s.Close(t.Context(), &poller.Report{})
	})
}

// TestPickingGoesOnWhileDeadLettersHang: other partitions are taken while a settlement waits for its dead letters.
func TestPickingGoesOnWhileDeadLettersHang(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		cfg := testConfig(claims.SkipLocked)
		cfg.Policy.MaxAttempts, cfg.DeadLetters = 1, &slowLetters{takes: time.Hour}
		db.add("a")
		s := open(t, cfg, db.connect())
		g := s.Expect("1")
		begun := time.Now()
		var all sync.WaitGroup
		all.Go(func() { s.Settled("r", g) })
		synctest.Wait()
		db.add("b")
		g = s.Expect("2")
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("the next event came after %s", waited)
		}
		all.Wait()
		s.Settled("a", g)
		s.states("Fx")
		_ = s.Close(t.Context(), &poller.Report{})
	})
}

// TestDeadLettersOfATickHoldNoRows: the report keeps the key of each, and not the memory that it shares with the row.
func TestDeadLettersOfATickHoldNoRows(t *testing.T) {
	quick.Skip(t)
	policy := poller.Policy{MaxAttempts: 1, Delays: []time.Duration{time.Second}}
	s := newSession(&shared{cfg: Config{Policy: policy}}, "me", -1, 0)
	s.cfg, s.outbox = &s.shared.cfg, &Outbox{}
	set := &settlement{s: s}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 100 {
		payload := slices.Concat([]byte(`"`), bytes.Repeat([]byte("x"), 1<<20), []byte(`"`))
		rows := []event.Row{{Ref: event.Ref{Seq: int64(i)}, Outbox: change.Outbox{AggregateType: "a", AggregateID: "b",
			IdempotencyKey: "k", Payload: payload, JSON: true}}}
		e := eventsOf(rows, time.Now())
		set.rejected(t.Context(), &e[0], event.Marked{Ref: rows[0].Ref},
			poller.Rejection{Cause: poller.Refused, At: time.Now()})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 10<<20 || len(set.deadLettered) != 100 {
		t.Errorf("%d dead letters hold %d MiB", len(set.deadLettered), held>>20)
	}
	runtime.KeepAlive(set)
}
