package poller_test

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
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

func TestTickDrainsInOrderPerKey(t *testing.T) {
	for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderSource, poller.OrderNone} {
		t.Run(string(ordering), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.NewTable(95, 19)
				slow := func(ctx context.Context, d change.Delivery) error {
					return clock.Sleep(ctx, time.Duration(1+len(d.Events[0].ID))*time.Millisecond)
				}
				to := pollertest.NewSink(t, slow)
				to.Ordering = ordering
				report := pollertest.Relay(t, feed, to, func(c *poller.Config) { c.Ordering = ordering }).Tick(t.Context())
				if report.Event != poller.TickComplete || report.Rows != 95 || !report.Drained || report.Failed() {
					t.Fatalf("report: %+v", report)
				}
				if feed.Position != 95 || feed.Closed != 1 || feed.Peak < 2 || feed.Peak > 3 {
					t.Errorf("position %d, closed %d times, at most %d batches unsettled", feed.Position, feed.Closed, feed.Peak)
				}
				if last := feed.Commits[len(feed.Commits)-1]; !last.Last {
					t.Error("the last commit of a drained tick does not carry the release")
				}
				for i := range 95 {
					if to.Accepted[fmt.Sprint(i)] != 1 {
						t.Errorf("event %d accepted %d times", i, to.Accepted[fmt.Sprint(i)])
					}
				}
				if ordering != poller.OrderNone {
					pollertest.CheckOrder(t, feed.Rows, to.Order)
				}
				want := 4
				if ordering == poller.OrderSource {
					want = 1
				}
				if to.Most != want {
					t.Errorf("%d requests at once, want %d", to.Most, want)
				}
			})
		})
	}
}

// Where commits are slow, delivered batches share one; and they wait for it in bounded memory.
func TestDeliveredBatchesShareACommit(t *testing.T) {
	for _, c := range []struct {
		name               string
		bytes              int // batch_bytes
		peak, most, fewest int // batches unsettled, commits
	}{
		{"small batches", 1 << 20, 8, 6, 4},
		{"two fill the memory", 1, 2, 20, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.NewTable(200, 7)
				feed.CommitTakes = time.Second
				to := pollertest.NewSink(t, nil)
				report := pollertest.Relay(t, feed, to, func(cfg *poller.Config) { cfg.Fetch.Bytes = c.bytes }).Tick(t.Context())
				if report.Event != poller.TickComplete || report.Rows != 200 || len(report.Batches) != 20 ||
					report.BatchID != "batch_20" {
					t.Fatalf("report: %+v", report)
				}
				if !report.After.Equal(pollertest.Position(200)) || feed.Position != 200 {
					t.Errorf("report %s, committed %d", report.After, feed.Position)
				}
				if n := len(feed.Commits); n < c.fewest || n > c.most || feed.Peak != c.peak {
					t.Errorf("%d commits, at most %d batches unsettled: %v", n, feed.Peak, feed.Commits)
				}
				pollertest.CheckOrder(t, feed.Rows, to.Order)
			})
		})
	}
}

func TestOneBatchTickFetchesAndCommitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(4, 4)
		report := pollertest.Relay(t, feed, pollertest.NewSink(t, nil)).Tick(t.Context())
		if report.Event != poller.TickComplete || len(feed.Fetches) != 1 ||
			!slices.Equal(feed.Commits, []pollertest.Commit{{Events: 4, Last: true}}) {
			t.Errorf("%s: %d fetches, settlements %v", report.Event, len(feed.Fetches), feed.Commits)
		}
	})
}

func TestIdleTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(0, 1)
		report := pollertest.Relay(t, feed, pollertest.NewSink(t, nil)).Tick(t.Context())
		if report.Event != poller.FetchEmpty || len(feed.Fetches) != 1 || len(feed.Commits) != 0 {
			t.Errorf("%s: %d fetches, settlements %v", report.Event, len(feed.Fetches), feed.Commits)
		}
	})
}

func TestOutageStopsTheTickAtItsPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(30, 30)
		down := false
		to := pollertest.NewSink(t, nil)
		to.Answer = func(_ context.Context, d change.Delivery) error {
			if down = down || len(to.Accepted) == 4; down {
				return poller.FailAll(len(d.Events), poller.Refused, 403, errors.New("403 no such key"))
			}
			return nil
		}
		relay := pollertest.Relay(t, feed, to, func(c *poller.Config) { c.Concurrency, c.RequestEvents = 1, 2 })
		report := relay.Tick(t.Context())
		if report.Event != poller.HandlerFailed || report.Reason != poller.Denied ||
			!strings.HasPrefix(report.Err.Error(), "403 no such key; ") {
			t.Errorf("report: %+v", report)
		}
		if feed.Position != 4 || report.Rows != 4 || report.Rejected != 0 || !report.After.Equal(pollertest.Position(4)) {
			t.Errorf("position %d, after %s", feed.Position, report.After)
		}
		if last := feed.Commits[len(feed.Commits)-1]; !last.Last {
			t.Error("a failed tick's commit does not carry the release")
		}
		to.Answer = nil
		if report := relay.Tick(t.Context()); report.Event != poller.TickComplete || feed.Position != 30 {
			t.Errorf("after the mend: %s, position %d", report.Event, feed.Position)
		}
	})
}

func TestRetryWaitsAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(1, 1)
		var at []time.Duration
		begun := time.Now()
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
			at = append(at, time.Since(begun))
			if d.Attempt < 3 {
				failure := poller.FailAll(1, poller.Unavailable, 429, errors.New("429"))
				failure.RetryAfter = 3 * time.Second
				return failure
			}
			return nil
		})
		if report := pollertest.Relay(t, feed, to).Tick(t.Context()); report.Event != poller.TickComplete {
			t.Fatalf("report: %+v", report)
		}
		if want := []time.Duration{0, 3 * time.Second, 6 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
		if to.Calls[0].Number >= to.Calls[1].Number || to.Calls[2].Token != 7 {
			t.Errorf("delivery numbers %d, %d, token %d", to.Calls[0].Number, to.Calls[1].Number, to.Calls[2].Token)
		}
	})
}

// TestImpossibleNeedsNoEvidence: what cannot be sent is rejected after one attempt, also where nothing else is sent.
func TestImpossibleNeedsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := pollertest.NewSink(t, func(context.Context, change.Delivery) error {
			return poller.FailAll(1, poller.Impossible, 0, errors.New("too large"))
		})
		feed := pollertest.NewTable(1, 1)
		report := pollertest.Relay(t, feed, to).Tick(t.Context())
		if report.Event != poller.TickComplete || report.Rejected != 1 || len(to.Calls) != 1 ||
			feed.Reasons["0"].Cause != poller.Impossible {
			t.Errorf("%+v, %d calls, %+v", report, len(to.Calls), feed.Reasons)
		}
	})
}

func TestBudgetEndsTheTickWithMoreToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(1000, 1000)
		to := pollertest.NewSink(t, pollertest.Slow(9*time.Second))
		begun := time.Now()
		report := pollertest.Relay(t, feed, to).Tick(t.Context())
		if report.Event != poller.TickComplete || report.Drained || report.Failed() {
			t.Errorf("report: %+v", report)
		}
		if took := time.Since(begun); took != 54*time.Second {
			t.Errorf("took %v, want the budget and the rest of the requests then under way", took)
		}
		if feed.Position != report.Rows || report.Rows == 0 || report.Lag == 0 {
			t.Errorf("position %d, rows %d, lag %v", feed.Position, report.Rows, report.Lag)
		}
	})
}

// TestWhatWasFetchedIsSentBeyondTheBudget: one order key takes longer than the budget. With Linger its rows that were
// fetched are sent all the same, so that no other row, accepted long before, is sent again.
func TestWhatWasFetchedIsSentBeyondTheBudget(t *testing.T) {
	for linger, wantRepeats := range map[time.Duration]bool{0: true, time.Minute: false} {
		synctest.Test(t, func(t *testing.T) {
			rows := pollertest.Keys(300, 300)
			for i := 0; i < len(rows); i += 3 {
				rows[i] = "busy"
			}
			feed, to := pollertest.TableOf(rows...), pollertest.NewSink(t, pollertest.Slow(500*time.Millisecond))
			relay := pollertest.Relay(t, feed, to, func(c *poller.Config) {
				c.Budget, c.Linger, c.PollInterval, c.RequestEvents = 5*time.Second, linger, 100*time.Millisecond, 5
			})
			for ticks := 0; feed.Position < len(rows) && ticks < 100; ticks++ {
				begun := time.Now()
				if report := relay.Tick(t.Context()); report.Failed() || time.Since(begun) > linger+6*time.Second {
					t.Fatalf("after %s: %+v", time.Since(begun), report)
				}
			}
			sent := 0
			for _, n := range to.Accepted {
				sent += n
			}
			if feed.Position != len(rows) || (sent > len(rows)) != wantRepeats {
				t.Errorf("linger %s: position %d, %d rows accepted", linger, feed.Position, sent)
			}
		})
	}
}

func TestMaxBatchesEndsTheTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(100, 100)
		report := pollertest.Relay(t, feed, pollertest.NewSink(t, nil), func(c *poller.Config) {
			c.MaxBatches = 3
		}).Tick(t.Context())
		if report.Event != poller.TickComplete || feed.Position != 30 || len(feed.Fetches) != 3 || report.Drained {
			t.Errorf("%s: position %d after %d fetches", report.Event, feed.Position, len(feed.Fetches))
		}
	})
}

func TestPollIntervalKeepsPollingInsideATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(5, 5)
		time.AfterFunc(20*time.Second, func() {
			feed.Lock()
			feed.Rows = pollertest.Keys(9, 9)
			feed.Unlock()
		})
		report := pollertest.Relay(t, feed, pollertest.NewSink(t, nil), func(c *poller.Config) {
			c.PollInterval = time.Second
		}).Tick(t.Context())
		if report.Event != poller.TickComplete || feed.Position != 9 || report.Rows != 9 {
			t.Errorf("%s: position %d, rows %d", report.Event, feed.Position, report.Rows)
		}
		if len(feed.Fetches) < 45 || len(feed.Fetches) > 51 {
			t.Errorf("%d fetches in 50 s", len(feed.Fetches))
		}
	})
}

// While there is work, the time that deliveries take is not added to the poll interval; once there is none, the wait is
// a whole one.
func TestPollIntervalCountsFromTheFetchWhileThereIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(1, 1)
		feed.FetchTakes = 100 * time.Millisecond
		begun := time.Now()
		to := pollertest.NewSink(t, func(ctx context.Context, _ change.Delivery) error {
			err := clock.Sleep(ctx, 600*time.Millisecond)
			feed.Lock()
			defer feed.Unlock()
			if len(feed.Rows) < 3 {
				feed.Rows = pollertest.Keys(len(feed.Rows)+1, 1)
			}
			return err
		})
		pollertest.Relay(t, feed, to, func(c *poller.Config) {
			c.PollInterval, c.Budget = time.Second, 4500*time.Millisecond
		}).Tick(t.Context())
		var asked []time.Duration
		for _, at := range feed.Fetches {
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
		feed := pollertest.NewTable(10, 10)
		stolen := errors.New("stolen")
		time.AfterFunc(time.Second, func() { feed.End(stolen) })
		to := pollertest.NewSink(t, pollertest.Slow(20*time.Second))
		begun := time.Now()
		report := pollertest.Relay(t, feed, to).Tick(t.Context())
		if report.Event != poller.LostLease || !errors.Is(report.Err, stolen) || feed.Position != 0 ||
			time.Since(begun) != time.Second {
			t.Errorf("%s (%v): position %d after %v", report.Event, report.Err, feed.Position, time.Since(begun))
		}
	})
}

func TestFrozenOwnerSendsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expired := errors.New("expired while frozen")
		frozen := pollertest.NewTable(3, 3)
		frozen.CheckErr = expired
		to := pollertest.NewSink(t, nil)
		report := pollertest.Relay(t, frozen, to).Tick(t.Context())
		if report.Event != poller.LostLease || !errors.Is(report.Err, expired) || len(to.Calls) != 0 {
			t.Errorf("%s (%v), %d requests", report.Event, report.Err, len(to.Calls))
		}
	})
}

func TestCancelledInvocationSettlesWhatWasAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(100, 100)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)
		to := pollertest.NewSink(t, pollertest.Slow(time.Second))
		report := pollertest.Relay(t, feed, to).Tick(ctx)
		if report.Event != poller.TickComplete || feed.Position != len(to.Accepted) || feed.Position < 20 ||
			feed.Closed != 1 {
			t.Errorf("%s: position %d, %d accepted", report.Event, feed.Position, len(to.Accepted))
		}
	})
}

func TestFaultsBecomeTheirEvents(t *testing.T) {
	fault := func(e poller.Event) error { return &poller.Fault{Event: e, Err: errors.New("why")} }
	for name, c := range map[string]struct {
		fetch, commit error
		panics        bool
		between       bool // the panic is the tick's own, and not the output's
		event         poller.Event
	}{
		"fetch":          {fetch: errors.New("no route"), event: poller.FetchFailed},
		"normalise":      {fetch: fault(poller.NormalizeFailed), event: poller.NormalizeFailed},
		"commit":         {commit: errors.New("503"), event: poller.CommitFailed},
		"lost on commit": {commit: fault(poller.LostLease), event: poller.LostLease},
		"output panics":  {panics: true, event: poller.HandlerFailed},
		"tick panics":    {panics: true, between: true, event: poller.HandlerFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.NewTable(1, 1)
				feed.FetchErr, feed.CommitErr = c.fetch, c.commit
				to := pollertest.Func(func(context.Context, change.Delivery) error {
					if c.panics {
						panic("boom")
					}
					return nil
				})
				relay := pollertest.Relay(t, feed, to, func(cfg *poller.Config) {
					if c.between {
						cfg.Size = func(*change.Event) int { panic("boom") }
					}
				})
				r := poller.New(relay).Run(t.Context())[0]
				if c.panics && !strings.Contains(r.Err.Error(), "boom") {
					t.Error(r.Err)
				}
				if r.Event != c.event || r.Err == nil || !r.Failed() || feed.Position != 0 || feed.Closed != 1 {
					t.Errorf("got %s (%v), position %d, closed %d", r.Event, r.Err, feed.Position, feed.Closed)
				}
			})
		})
	}
}

func TestOverlappingRunDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := pollertest.NewSink(t, pollertest.Slow(time.Second))
		p := poller.New(pollertest.Relay(t, pollertest.NewTable(1, 1), to))
		first := make(chan []poller.Report)
		go func() { first <- p.Run(t.Context()) }()
		synctest.Wait()
		second := p.Run(t.Context())
		if r := second[0]; r.Event != poller.LeaseAcquireSkipped || r.Failed() {
			t.Errorf("second: %+v", r)
		}
		if r := (<-first)[0]; r.Event != poller.TickComplete || len(to.Calls) != 1 {
			t.Errorf("first: %+v", r)
		}
	})
}
