package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/wiring"
)

// refuseMarks refuses source__late_commits=settle on a cursor that is no time: how old such rows are is known by what
// this process has seen a window ago, and a single tick has seen nothing. A source that does not answer is left to the
// tick.
func refuseMarks(ctx context.Context, chosen []*wiring.Poller) error {
	for _, w := range chosen {
		if w.Source == nil || late.Mode(w.Config.Source.LateCommits) != late.Settle {
			continue // without a source an outbox: its rows say themselves what was sent
		}
		last, err := w.Source.Latest(ctx)
		if err != nil || last.IsStart() {
			continue
		}
		var cursor struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(last, &cursor); err != nil {
			return fmt.Errorf("reading the latest position of %s: %w", w.Config.Name, err)
		}
		kind := cursor.Kind
		if len(w.Config.Source.Cursor) > 1 || !strings.HasPrefix(kind, "timestamp+") && !strings.HasPrefix(kind, "date+") {
			return fmt.Errorf("run --once of %s would never send anything: with %s=settle on a cursor that is no time (%s), a row is sent by "+
				"the process that has seen it for %s: use overlap, or run without --once", w.Config.Name,
				w.Config.Setting("source__late_commits"), kind, w.Config.Source.LateWindow)
		}
	}
	return nil
}

func runOnce(ctx context.Context, h *handler.Handler, chosen []*wiring.Poller) error {
	failed := make([]bool, len(chosen))
	var wg sync.WaitGroup
	for i, w := range chosen {
		wg.Go(func() {
			failed[i] = tickOnce(ctx, h, w.Config.Name)
		})
	}
	wg.Wait()
	for i := range failed {
		if failed[i] {
			return &exitError{fmt.Errorf("a tick of %s failed", chosen[i].Config.Name)} // its log line has said why
		}
	}
	return nil
}

// tickOnce runs one tick of a poller, and more only while each goes on with the search for an event that the last one's
// requests failed for: no other process could go on with it. It reports whether a tick failed.
func tickOnce(ctx context.Context, h *handler.Handler, name string) (failed bool) {
	for last := math.MaxInt; ; {
		reports, err := h.Tick(ctx, name, handler.Invocation{})
		failed = failed || err != nil
		left := 0
		for i := range reports {
			failed = failed || reports[i].Failed()
			left += reports[i].Searching
		}
		if left == 0 || left >= last || ctx.Err() != nil {
			return failed
		}
		last = left
	}
}

// keepTicking ticks by the schedule until ctx ends. Ticks do not overlap: what falls due while one runs is one tick
// later. A poller with poll_interval goes on polling where its tick ended at the budget: the next begins at once, or
// else changes would wait for the schedule once in each budget.
func keepTicking(ctx context.Context, h *handler.Handler, w *wiring.Poller, log *slog.Logger) {
	for {
		if !awaitNext(ctx, w.Schedule, time.Now) {
			return
		}
		for again := true; again; {
			reports, err := h.Tick(ctx, w.Config.Name, handler.Invocation{})
			if err != nil {
				log.Error("the tick could not begin", "poller", w.Config.Name, "error", err)
			}
			again = ctx.Err() == nil && endedAtBudget(w.Config, reports)
		}
	}
}

// lookAgain is how long a schedule is waited for before the clock is read again.
const lookAgain = time.Minute

// awaitNext waits for the schedule's next time by the wall clock, and reports whether it has come. A timer alone would
// be late by as much as the clock is put forward, or the machine is suspended. Where the clock is put back, what is
// next by then is waited for.
func awaitNext(ctx context.Context, s *schedule.Schedule, now func() time.Time) bool {
	next, ok := s.Next(now())
	for at := now(); ok && at.Before(next); at = now() {
		if clock.Sleep(ctx, min(next.Sub(at), lookAgain)) != nil {
			return false
		}
		if again, ok := s.Next(now()); ok && again.Before(next) {
			next = again
		}
	}
	return ok && ctx.Err() == nil // one that never fires is a fault of the settings
}

// endedAtBudget reports whether a tick that polls ended because its time was over, and nothing else. One that failed
// waits for the schedule, which keeps a fault from being met again and again without a pause.
func endedAtBudget(p *config.Poller, reports []poller.Report) bool {
	if p.PollInterval <= 0 {
		return false
	}
	for i := range reports {
		r := &reports[i]
		if (r.Event == poller.TickComplete || r.Event == poller.FetchEmpty) && r.Ended.Sub(r.Started) >= p.TickBudget {
			return true
		}
	}
	return false
}

// cleanupSpread is the most that a clean-up begins after its time, so that instances with one schedule do not ask at
// once.
const cleanupSpread = 30 * time.Second

// keepCleaning cleans an outbox up by its own schedule until ctx ends, beside its ticks. The start is no occasion: what
// is to be deleted has waited for days.
func keepCleaning(ctx context.Context, h *handler.Handler, w *wiring.Poller) {
	for {
		next, ok := w.Cleanup.Next(time.Now())
		spread := cleanupSpread
		if after, ok := w.Cleanup.Next(next); ok {
			spread = min(spread, after.Sub(next)/2)
		}
		if !ok || clock.Sleep(ctx, time.Until(next.Add(rand.N(spread)))) != nil { //nolint:gosec // no secret
			return
		}
		_ = h.Cleanup(ctx, w.Config.Name, 0, handler.Invocation{}) // it has logged why; the next time goes on
	}
}
