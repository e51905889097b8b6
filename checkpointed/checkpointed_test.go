package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

func TestLookBeforeYouLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &rowSource{fingerprint: "sha256:a"}
		to := pollertest.NewSink(t, nil)
		one := newInstance(t, memstore.New(), source, to)
		counts := func() [3]int {
			return [3]int{one.store.Counts(storetest.Load), one.store.Counts(storetest.Create),
				one.store.Counts(storetest.Replace)}
		}
		report := one.Tick(t.Context())
		if got := counts(); report.Event != poller.FetchEmpty || got != [3]int{1, 1, 0} {
			t.Errorf("the first tick: %s, %v loads, creations, replacements", report.Event, got)
		}
		if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "starts at (beginning)") {
			t.Errorf("the first tick warns: %q", report.Warnings)
		}
		fetches := source.fetches
		if report = one.Tick(t.Context()); report.Event != poller.FetchEmpty {
			t.Errorf("an idle tick: %s", report.Event)
		}
		if got := counts(); got != [3]int{1, 0, 0} || source.fetches != fetches+1 {
			t.Errorf("an idle tick: %v, %d fetches", got, source.fetches-fetches)
		}
		source.add("a", "b")
		if report = one.Tick(t.Context()); report.Event != poller.TickComplete || report.Token != 1 || report.Rows != 2 {
			t.Errorf("a tick with work: %+v", report)
		}
		if got := counts(); got != [3]int{1, 0, 2} {
			t.Errorf("a tick with one batch: %v; want one read, the acquisition and the commit that releases", got)
		}
		source.add("c")
		if report = one.Tick(t.Context()); report.Token != 2 || !report.Before.Equal(position(2)) ||
			!report.After.Equal(position(3)) {
			t.Errorf("the next tick: %+v", report)
		}
	})
}

func TestStartLatestDoesNotMoveWithIdleTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &rowSource{fingerprint: "sha256:a", rows: []string{"a", "b"}, start: 2}
		to := pollertest.NewSink(t, nil)
		one := newInstance(t, memstore.New(), source, to)
		one.Tick(t.Context())
		source.add("c")
		source.start = 3 // what latest would now be
		one.Tick(t.Context())
		if len(to.Order) != 1 || to.Order[0] != "2" {
			t.Errorf("arrived: %v, want only the row that came after the start", to.Order)
		}
	})
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rowSource)
		event  poller.Event
		remedy string
	}{
		"another source": {func(s *rowSource) {
			s.fingerprint = "sha256:b"
		}, poller.FingerprintMismatch, "accept-fingerprint"},
		"another database": {func(s *rowSource) { s.incarnation = "restored" }, poller.SourceGap, "accept-gap"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &rowSource{fingerprint: "sha256:a", incarnation: "first", rows: []string{"a"}}
				to := pollertest.NewSink(t, nil)
				one := newInstance(t, memstore.New(), source, to)
				one.Tick(t.Context())
				before := one.position(t)
				source.add("b")
				c.change(source)
				report := one.Tick(t.Context())
				if report.Event != c.event || !report.Failed() || !strings.Contains(report.Err.Error(), c.remedy) {
					t.Errorf("%s: %v", report.Event, report.Err)
				}
				if !one.position(t).Equal(before) || len(to.Order) != 1 {
					t.Errorf("position %s, %d events", one.position(t), len(to.Order))
				}
			})
		})
	}
}

// TestTakeover: while one instance works another does nothing; when it dies, the next owner has the next token and
// delivers what was not acknowledged.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		source := &rowSource{fingerprint: "sha256:a", rows: pollertest.Keys(4, 4)}
		stuck := newInstance(t, store, source, pollertest.NewSink(t, func(ctx context.Context, _ change.Delivery) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}))
		to := pollertest.NewSink(t, nil)
		other := newInstance(t, store, source, to)
		done := make(chan poller.Report, 1)
		go func() { done <- stuck.Tick(t.Context()) }()
		synctest.Wait()
		if report := other.Tick(t.Context()); report.Event != poller.LeaseAcquireSkipped || report.Failed() ||
			len(to.Calls) != 0 {
			t.Errorf("beside a working instance: %+v", report)
		}
		stuck.store.Crash() // it can neither renew, nor commit, nor release
		time.Sleep(70 * time.Second)
		report := other.Tick(t.Context())
		if report.Event != poller.TickComplete || report.Token != 2 || len(to.Order) != 4 {
			t.Errorf("after the takeover: %+v", report)
		}
		if report := <-done; !report.Failed() || report.Rows != 0 {
			t.Errorf("the dead instance: %+v", report)
		}
	})
}

// TestStaleHolderIsPointedOut: a lease that is held but not renewed is a warning and a figure.
func TestStaleHolderIsPointedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		source := &rowSource{fingerprint: "sha256:a", rows: pollertest.Keys(1, 1)}
		dead := newInstance(t, store, source, pollertest.NewSink(t, func(ctx context.Context, _ change.Delivery) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}))
		done := make(chan poller.Report, 1)
		go func() { done <- dead.Tick(t.Context()) }()
		synctest.Wait()
		dead.store.Crash()
		time.Sleep(62 * time.Second) // beyond the ttl, within the grace
		report := newInstance(t, store, source, pollertest.NewSink(t, nil)).Tick(t.Context())
		if report.Event != poller.LeaseAcquireSkipped || report.Staleness <= 0 || len(report.Warnings) != 1 {
			t.Errorf("%+v", report)
		}
		<-done
	})
}

// TestAdoption: a document that changed under an idle instance, by one that came and went, is adopted with fresh rows.
func TestAdoption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		source := &rowSource{fingerprint: "sha256:a", rows: []string{"z"}}
		to := pollertest.NewSink(t, nil)
		polling := newInstance(t, store, source, to, func(c *poller.Config) { c.PollInterval = 10 * time.Second })
		other := newInstance(t, store, source, to)
		other.Tick(t.Context())
		done := make(chan poller.Report, 1)
		go func() { done <- polling.Tick(t.Context()) }() // has read the document, and polls
		time.Sleep(5 * time.Second)
		source.add("a", "b")
		if report := other.Tick(t.Context()); report.Rows != 2 {
			t.Errorf("the other instance: %+v", report)
		}
		source.add("c")
		if report := <-done; report.Event != poller.TickComplete || report.Rows != 1 || report.Token != 3 {
			t.Errorf("the polling instance: %+v", report)
		}
		if fmt.Sprint(to.Order) != "[0 1 2 3]" {
			t.Errorf("arrived: %v", to.Order)
		}
	})
}

// TestCommitLandedButTheAnswerWasLost: it is read back, and not delivered again.
func TestCommitLandedButTheAnswerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &rowSource{fingerprint: "sha256:a", rows: pollertest.Keys(3, 3)}
		to := pollertest.NewSink(t, nil)
		one := newInstance(t, memstore.New(), source, to)
		writes := 0
		one.store.Plan(func(op storetest.Op) (storetest.Fault, int) {
			if op == storetest.Replace {
				if writes++; writes == 2 {
					return storetest.DoneButFailed, 0
				}
			}
			return storetest.None, 0
		})
		if report := one.Tick(t.Context()); report.Event != poller.TickComplete || report.Rows != 3 {
			t.Errorf("%+v", report)
		}
		one.Tick(t.Context())
		if len(to.Order) != 3 {
			t.Errorf("arrived: %v", to.Order)
		}
	})
}

// TestFaultsAndCrashesLoseNothing lets three instances tick on one document while the store fails in its three ways,
// requests fail, and instances die and are replaced; then everything must have arrived, and nothing may have been
// acknowledged before.
func TestFaultsAndCrashesLoseNothing(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			var dice sync.Mutex
			roll := func(n int) int {
				dice.Lock()
				defer dice.Unlock()
				return rnd.IntN(n)
			}
			store := memstore.New()
			source := &rowSource{fingerprint: "sha256:a", rows: pollertest.Keys(20+roll(80), 1+roll(12))}
			to := pollertest.NewSink(t, nil)
			to.Ordering = poller.OrderNone // late requests of dead instances may overlap; the order is checked below
			to.Answer = func(ctx context.Context, d change.Delivery) error {
				if err := clock.Sleep(ctx, time.Duration(roll(3000))*time.Millisecond); err != nil {
					return err
				}
				if roll(12) == 0 {
					return errors.New("unavailable")
				}
				return nil
			}
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					for run := 0; run < 40; run++ {
						i := newInstance(t, store, source, to, func(c *poller.Config) { c.MaxBatches = roll(4) })
						if run < 4 { // the last runs are calm, so that the end is reached
							i.store.Plan(func(storetest.Op) (storetest.Fault, int) {
								if roll(8) == 0 {
									return storetest.Fault(1 + roll(3)), roll(4)
								}
								return storetest.None, 0
							})
							time.AfterFunc(time.Duration(roll(200))*time.Second, i.store.Crash)
						}
						for range 3 {
							i.Tick(t.Context())
							time.Sleep(time.Duration(roll(20)) * time.Second)
						}
					}
				})
			}
			all.Wait()
			last := newInstance(t, store, source, to)
			if got := last.position(t); !got.Equal(position(len(source.rows))) {
				t.Fatalf("seed %d: the position is %s of %d", seed, got, len(source.rows))
			}
			to.Answer = nil
			for last.Tick(t.Context()).Parked > 0 { // an event that failed each time while others were accepted
				time.Sleep(10 * time.Second)
			}
			for n := range source.rows {
				if to.Accepted[fmt.Sprint(n)] == 0 {
					t.Fatalf("seed %d: event %d is acknowledged and was never accepted", seed, n)
				}
			}
			pollertest.CheckOrder(t, source.rows, to.Order)
		})
	}
}
