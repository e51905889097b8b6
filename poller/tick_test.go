package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

func keys(n, distinct int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("k%d", i%distinct)
	}
	return rows
}

func TestTickDrainsInOrderPerKey(t *testing.T) {
	for _, ordering := range []Ordering{OrderKey, OrderSource, OrderNone} {
		t.Run(string(ordering), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := &table{rows: keys(95, 7)}
				slow := func(ctx context.Context, d change.Delivery) error {
					return clock.Sleep(ctx, time.Duration(1+len(d.Events[0].ID))*time.Millisecond)
				}
				to := newSink(t, slow)
				to.ordering = ordering
				report := relayOf(t, feed, to, func(c *Config) { c.Ordering = ordering }).Tick(t.Context())
				if report.Event != TickComplete || report.Rows != 95 || !report.Drained || report.Failed() {
					t.Fatalf("report: %+v", report)
				}
				if feed.position != 95 || feed.closed != 1 || feed.peak < 2 || feed.peak > 3 {
					t.Errorf("position %d, closed %d times, at most %d batches unsettled", feed.position, feed.closed, feed.peak)
				}
				if last := feed.settles[len(feed.settles)-1]; !last.last {
					t.Error("the last commit of a drained tick does not carry the release")
				}
				for i := range 95 {
					if to.accepted[fmt.Sprint(i)] != 1 {
						t.Errorf("event %d accepted %d times", i, to.accepted[fmt.Sprint(i)])
					}
				}
				if ordering != OrderNone {
					assertOrderPerKey(t, feed.rows, to.order)
				}
				if want := map[Ordering]int{OrderKey: 4, OrderSource: 1, OrderNone: 4}[ordering]; to.most != want {
					t.Errorf("%d requests at once, want %d", to.most, want)
				}
			})
		})
	}
}

// assertOrderPerKey fails when an id was first accepted after a later one of its key.
func assertOrderPerKey(t *testing.T, rows, order []string) {
	t.Helper()
	newest, seen := map[string]int{}, map[int]bool{}
	for _, text := range order {
		var id int
		if _, err := fmt.Sscan(text, &id); err != nil {
			t.Fatal(err)
		}
		if before, ok := newest[rows[id]]; ok && before > id && !seen[id] {
			t.Errorf("event %d of %s arrived after %d", id, rows[id], before)
		}
		seen[id] = true
		newest[rows[id]] = max(newest[rows[id]], id)
	}
}

// Where commits are slow, delivered batches share one; and they wait for it in bounded memory.
func TestDeliveredBatchesShareACommit(t *testing.T) {
	for _, c := range []struct {
		name               string
		bytes              int // batch_bytes
		peak, most, fewest int // batches unsettled, commits
	}{
		{"small batches", 1 << 20, maxUnsettled, 6, 4},
		{"two fill the memory", 1, 2, 20, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := &table{rows: keys(200, 7), slow: time.Second}
				to := newSink(t, nil)
				report := relayOf(t, feed, to, func(cfg *Config) { cfg.Fetch.Bytes = c.bytes }).Tick(t.Context())
				if report.Event != TickComplete || report.Rows != 200 || len(report.Batches) != 20 || report.BatchID != "batch_20" {
					t.Fatalf("report: %+v", report)
				}
				if !report.After.Equal(position(200)) || feed.position != 200 {
					t.Errorf("report %s, committed %d", report.After, feed.position)
				}
				if n := len(feed.settles); n < c.fewest || n > c.most || feed.peak != c.peak {
					t.Errorf("%d commits, at most %d batches unsettled: %v", n, feed.peak, feed.settles)
				}
				assertOrderPerKey(t, feed.rows, to.order)
			})
		})
	}
}

func TestOneBatchTickFetchesAndCommitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(4, 4)}
		report := relayOf(t, feed, newSink(t, nil), nil).Tick(t.Context())
		if report.Event != TickComplete || feed.fetches != 1 || !slices.Equal(feed.settles, []settlementMade{{4, true}}) {
			t.Errorf("%s: %d fetches, settlements %v", report.Event, feed.fetches, feed.settles)
		}
	})
}

func TestIdleTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{}
		report := relayOf(t, feed, newSink(t, nil), nil).Tick(t.Context())
		if report.Event != FetchEmpty || feed.fetches != 1 || len(feed.settles) != 0 {
			t.Errorf("%s: %d fetches, settlements %v", report.Event, feed.fetches, feed.settles)
		}
	})
}

func TestOutageStopsTheTickAtItsPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(30, 30)}
		down := false
		to := newSink(t, nil)
		to.answer = func(_ context.Context, d change.Delivery) error {
			if down = down || len(to.accepted) == 4; down {
				return FailAll(len(d.Events), Refused, 403, errors.New("403 no such key"))
			}
			return nil
		}
		relay := relayOf(t, feed, to, func(c *Config) { c.Concurrency, c.RequestEvents = 1, 2 })
		report := relay.Tick(t.Context())
		if report.Event != HandlerFailed || report.Reason != "unavailable" ||
			!strings.Contains(report.Err.Error(), "403 no such key") {
			t.Errorf("report: %+v", report)
		}
		if feed.position != 4 || report.Rows != 4 || report.Rejected != 0 || !report.After.Equal(position(4)) {
			t.Errorf("position %d, after %s", feed.position, report.After)
		}
		if last := feed.settles[len(feed.settles)-1]; !last.last {
			t.Error("a failed tick's commit does not carry the release")
		}
		to.answer = nil
		if report := relay.Tick(t.Context()); report.Event != TickComplete || feed.position != 30 {
			t.Errorf("after the mend: %s, position %d", report.Event, feed.position)
		}
	})
}

func TestRetryWaitsAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(1, 1)}
		var at []time.Duration
		begun := time.Now()
		to := newSink(t, func(_ context.Context, d change.Delivery) error {
			at = append(at, time.Since(begun))
			if d.Attempt < 3 {
				failure := FailAll(1, Unavailable, 429, errors.New("429"))
				failure.RetryAfter = 3 * time.Second
				return failure
			}
			return nil
		})
		if report := relayOf(t, feed, to, nil).Tick(t.Context()); report.Event != TickComplete {
			t.Fatalf("report: %+v", report)
		}
		if want := []time.Duration{0, 3 * time.Second, 6 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
		if to.calls[0].Number >= to.calls[1].Number || to.calls[2].Token != 7 {
			t.Errorf("delivery numbers %d, %d, token %d", to.calls[0].Number, to.calls[1].Number, to.calls[2].Token)
		}
	})
}

// TestImpossibleNeedsNoEvidence: what cannot be sent is rejected after one attempt, also where nothing else is sent.
func TestImpossibleNeedsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newSink(t, func(context.Context, change.Delivery) error {
			return FailAll(1, Impossible, 0, errors.New("too large"))
		})
		feed := newParkingTable(keys(1, 1))
		report := relayOf(t, feed, to, nil).Tick(t.Context())
		if report.Event != TickComplete || report.Rejected != 1 || len(to.calls) != 1 ||
			feed.reasons["0"].Cause != Impossible {
			t.Errorf("%+v, %d calls, %+v", report, len(to.calls), feed.reasons)
		}
	})
}

func TestBudgetEndsTheTickWithMoreToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(1000, 1000)}
		to := newSink(t, func(ctx context.Context, _ change.Delivery) error { return clock.Sleep(ctx, 9*time.Second) })
		begun := time.Now()
		report := relayOf(t, feed, to, nil).Tick(t.Context())
		if report.Event != TickComplete || report.Drained || report.Failed() {
			t.Errorf("report: %+v", report)
		}
		if took := time.Since(begun); took != 54*time.Second {
			t.Errorf("took %v, want the budget and the rest of the requests then under way", took)
		}
		if feed.position != report.Rows || report.Rows == 0 || report.Lag == 0 {
			t.Errorf("position %d, rows %d, lag %v", feed.position, report.Rows, report.Lag)
		}
	})
}

func TestMaxBatchesEndsTheTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(100, 100)}
		report := relayOf(t, feed, newSink(t, nil), func(c *Config) { c.MaxBatches = 3 }).Tick(t.Context())
		if report.Event != TickComplete || feed.position != 30 || feed.fetches != 3 || report.Drained {
			t.Errorf("%s: position %d after %d fetches", report.Event, feed.position, feed.fetches)
		}
	})
}

func TestPollIntervalKeepsPollingInsideATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(5, 5)}
		time.AfterFunc(20*time.Second, func() {
			feed.mu.Lock()
			feed.rows = keys(9, 9)
			feed.mu.Unlock()
		})
		report := relayOf(t, feed, newSink(t, nil), func(c *Config) { c.PollInterval = time.Second }).Tick(t.Context())
		if report.Event != TickComplete || feed.position != 9 || report.Rows != 9 {
			t.Errorf("%s: position %d, rows %d", report.Event, feed.position, report.Rows)
		}
		if feed.fetches < 45 || feed.fetches > 51 {
			t.Errorf("%d fetches in 50 s", feed.fetches)
		}
	})
}

// While there is work, the time that deliveries take is not added to the poll interval; once there is none, the wait is
// a whole one.
func TestPollIntervalCountsFromTheFetchWhileThereIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(1, 1), wait: 100 * time.Millisecond}
		begun := time.Now()
		to := newSink(t, func(ctx context.Context, _ change.Delivery) error {
			err := clock.Sleep(ctx, 600*time.Millisecond)
			feed.mu.Lock()
			defer feed.mu.Unlock()
			if len(feed.rows) < 3 {
				feed.rows = keys(len(feed.rows)+1, 1)
			}
			return err
		})
		relayOf(t, feed, to, func(c *Config) {
			c.PollInterval, c.Budget = time.Second, 4500*time.Millisecond
		}).Tick(t.Context())
		var asked []time.Duration
		for _, at := range feed.asked {
			asked = append(asked, at.Sub(begun))
		}
		want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 4100 * time.Millisecond}
		if !slices.Equal(asked, want) {
			t.Errorf("asked at %v, want %v", asked, want)
		}
	})
}

func TestLostRightCancelsRequestsAndCommitsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(10, 10)}
		stolen := errors.New("stolen")
		time.AfterFunc(time.Second, func() { feed.end(stolen) })
		to := newSink(t, func(ctx context.Context, _ change.Delivery) error { return clock.Sleep(ctx, 20*time.Second) })
		begun := time.Now()
		report := relayOf(t, feed, to, nil).Tick(t.Context())
		if report.Event != LostLease || !errors.Is(report.Err, stolen) || feed.position != 0 ||
			time.Since(begun) != time.Second {
			t.Errorf("%s (%v): position %d after %v", report.Event, report.Err, feed.position, time.Since(begun))
		}
	})
}

func TestFrozenOwnerSendsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expired := errors.New("expired while frozen")
		frozen := &frozenFeed{table: table{rows: keys(3, 3)}, err: expired}
		to := newSink(t, nil)
		report := relayOf(t, frozen, to, nil).Tick(t.Context())
		if report.Event != LostLease || !errors.Is(report.Err, expired) || len(to.calls) != 0 {
			t.Errorf("%s (%v), %d requests", report.Event, report.Err, len(to.calls))
		}
	})
}

// frozenFeed grants a right whose context is alive although the clocks say that it has ended.
type frozenFeed struct {
	table
	err error
}

func (f *frozenFeed) Open(ctx context.Context) (Session, error) {
	s, err := f.table.Open(ctx)
	return frozenSession{s, f.err}, err
}

type frozenSession struct {
	Session
	err error
}

func (s frozenSession) Next(ctx context.Context, limit Limit) (Grant, error) {
	g, err := s.Session.Next(ctx, limit)
	g.Check = func() error { return s.err }
	return g, err
}

func TestCancelledInvocationSettlesWhatWasAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(100, 100)}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)
		to := newSink(t, func(ctx context.Context, _ change.Delivery) error { return clock.Sleep(ctx, time.Second) })
		report := relayOf(t, feed, to, nil).Tick(ctx)
		if report.Event != TickComplete || feed.position != len(to.accepted) || feed.position < 20 || feed.closed != 1 {
			t.Errorf("%s: position %d, %d accepted", report.Event, feed.position, len(to.accepted))
		}
	})
}

func TestFaultsBecomeTheirEvents(t *testing.T) {
	for name, c := range map[string]struct {
		feed  *table
		answ  func(context.Context, change.Delivery) error
		event Event
	}{
		"fetch": {&table{rows: keys(1, 1), fetchErr: errors.New("no route")}, nil, FetchFailed},
		"normalise": {&table{rows: keys(1, 1), fetchErr: &Fault{NormalizeFailed, errors.New("NaN")}}, nil,
			NormalizeFailed},
		"commit":         {&table{rows: keys(1, 1), commit: errors.New("503")}, nil, CommitFailed},
		"lost on commit": {&table{rows: keys(1, 1), commit: &Fault{LostLease, errors.New("stolen")}}, nil, LostLease},
		"output panics": {&table{rows: keys(1, 1)}, func(context.Context, change.Delivery) error {
			panic("boom")
		}, HandlerFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reports := New("orders", relayOf(t, c.feed, newPanicTolerantSink(t, c.answ), nil)).Run(t.Context())
				if r := reports[0]; r.Event != c.event || r.Err == nil || !r.Failed() || c.feed.position != 0 ||
					c.feed.closed != 1 {
					t.Errorf("got %s (%v), position %d, closed %d", r.Event, r.Err, c.feed.position, c.feed.closed)
				}
			})
		})
	}
}

// newPanicTolerantSink returns an output without the sink's bookkeeping, whose lock a panic would leave locked.
func newPanicTolerantSink(t *testing.T, answer func(context.Context, change.Delivery) error) Output {
	if answer == nil {
		return newSink(t, nil)
	}
	return outputFunc(answer)
}

type outputFunc func(context.Context, change.Delivery) error

func (f outputFunc) Deliver(ctx context.Context, d change.Delivery) error { return f(ctx, d) }

func TestOverlappingRunDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newSink(t, func(ctx context.Context, _ change.Delivery) error { return clock.Sleep(ctx, time.Second) })
		p := New("orders", relayOf(t, &table{rows: keys(1, 1)}, to, nil))
		first := make(chan []Report)
		go func() { first <- p.Run(t.Context()) }()
		synctest.Wait()
		second := p.Run(t.Context())
		if r := second[0]; r.Event != LeaseAcquireSkipped || r.Failed() {
			t.Errorf("second: %+v", r)
		}
		if r := (<-first)[0]; r.Event != TickComplete || len(to.calls) != 1 {
			t.Errorf("first: %+v", r)
		}
	})
}
