package checkpointed

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

func TestLookBeforeYouLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRows()
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
		fetches := len(source.fetched)
		if report = one.Tick(t.Context()); report.Event != poller.FetchEmpty {
			t.Errorf("an idle tick: %s", report.Event)
		}
		if got := counts(); got != [3]int{1, 0, 0} || len(source.fetched) != fetches+1 {
			t.Errorf("an idle tick: %v, %d fetches", got, len(source.fetched)-fetches)
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

// accepted are the rows that an output was sent which accepts everything.
func accepted(to *pollertest.Sink) (rows []int) {
	for _, call := range to.Calls {
		for i := range call.Events {
			rows = append(rows, idOf(&call.Events[i]))
		}
	}
	return rows
}

func TestStartLatestDoesNotMoveWithIdleTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRows("a", "b")
		source.start = 2
		to := pollertest.NewSink(t, nil)
		one := newInstance(t, memstore.New(), source, to)
		one.Tick(t.Context())
		source.add("c")
		source.start = 3 // what latest would now be
		one.Tick(t.Context())
		if got := accepted(to); !slices.Equal(got, []int{3}) {
			t.Errorf("arrived: %v, want only the row that came after the start", got)
		}
	})
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*shop)
		event  poller.Event
		remedy string
	}{
		"another source": {func(s *shop) {
			s.describe.Fingerprint = "sha256:b"
		}, poller.FingerprintMismatch, "accept-fingerprint"},
		"another database": {func(s *shop) { s.incarnation = "restored" }, poller.SourceGap, "accept-gap"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newRows("a")
				source.incarnation = "first"
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
		source := newRows(pollertest.Keys(4, 4)...)
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
		source := newRows(pollertest.Keys(1, 1)...)
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
		source := newRows("z")
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
		if got := accepted(to); !slices.Equal(got, []int{1, 2, 3, 4}) {
			t.Errorf("arrived: %v", got)
		}
	})
}

// TestCommitLandedButTheAnswerWasLost: it is read back, and not delivered again.
func TestCommitLandedButTheAnswerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRows(pollertest.Keys(3, 3)...)
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
