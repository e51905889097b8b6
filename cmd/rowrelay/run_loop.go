package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

// keepTicking ticks by the schedule until ctx ends. Ticks do not overlap: what falls due while one runs is one tick later.
// A poller with poll_interval goes on polling where its tick ended at the budget: the next begins at once, or else changes
// would wait for the schedule once in each budget.
func keepTicking(ctx context.Context, h *handler.Handler, w *wired, log *slog.Logger) {
	next, ok := w.schedule.Next(time.Now())
	for ; ok; next, ok = w.schedule.Next(time.Now()) {
		if clock.Sleep(ctx, time.Until(next)) != nil {
			return
		}
		for again := true; again; {
			reports, err := h.Tick(ctx, w.cfg.Name, handler.Invocation{})
			if err != nil {
				log.Error("the tick could not begin", "poller", w.cfg.Name, "error", err)
			}
			again = ctx.Err() == nil && endedAtBudget(w.cfg, reports)
		}
	}
	log.Error("the schedule never fires", "poller", w.cfg.Name, "schedule", w.cfg.Schedule)
}

// endedAtBudget reports whether a tick that polls ended because its time was over, and nothing else. One that failed waits
// for the schedule, which keeps a fault from being met again and again without a pause.
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

// cleanupSpread is the most that a clean-up begins after its time, so that instances with one schedule do not ask at once.
const cleanupSpread = 30 * time.Second

// keepCleaning cleans an outbox up by its own schedule until ctx ends, beside its ticks. The start is no occasion: what is to
// be deleted has waited for days.
func keepCleaning(ctx context.Context, h *handler.Handler, w *wired, log *slog.Logger) {
	next, ok := w.outbox.cleanup.Next(time.Now())
	for ; ok; next, ok = w.outbox.cleanup.Next(time.Now()) {
		spread := cleanupSpread
		if after, ok := w.outbox.cleanup.Next(next); ok {
			spread = min(spread, after.Sub(next)/2)
		}
		if clock.Sleep(ctx, time.Until(next.Add(rand.N(spread)))) != nil { //nolint:gosec // no secret
			return
		}
		_ = h.Cleanup(ctx, w.cfg.Name, 0, handler.Invocation{}) // it has logged why; the next time goes on
	}
	log.Error("the clean-up schedule never fires", "poller", w.cfg.Name, "schedule", w.cfg.Source.CleanupSchedule)
}
