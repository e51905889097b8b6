package handler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"
)

// Cleanup runs one clean-up of the named outbox, until it is done, budget is over (0: none), or the lifetime given to
// New ends; it logs and measures it. One that was stopped goes on where it was with the next.
func (h *Handler) Cleanup(ctx context.Context, name string, budget time.Duration, inv Invocation) (err error) {
	p, known := h.pollers[name]
	if faults := append(slices.Clone(h.faults), p.Faults...); len(faults) > 0 {
		err = joinFaults(faults)
	} else if !known || p.Outbox == nil {
		return fmt.Errorf("the poller %q is no outbox", name)
	}
	started := time.Now()
	ctx, cancel := h.alive(ctx)
	defer cancel()
	var did Cleaned
	if err == nil {
		bounded, end := context.WithCancel(ctx)
		if budget > 0 {
			bounded, end = context.WithTimeout(ctx, budget)
		}
		defer end()
		did, err = guardedCleanup(bounded, p.Outbox.Cleanup)
		if err != nil && bounded.Err() != nil && !errors.Is(err, errPanic) { // it was stopped, whatever the driver calls that
			did.More, err = true, nil
		}
	}
	h.metrics.cleaned(name, did, err)
	attrs := []slog.Attr{
		slog.String("poller", name), slog.Int64("rows", did.Rows), slog.Int64("chunks", did.Chunks),
		slog.Bool("more", did.More),
		slog.Float64("duration_ms", milliseconds(time.Since(started))),
	}
	if inv.ID != "" {
		attrs = append(attrs, slog.String("invocation_id", inv.ID))
	}
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "clean-up failed",
			append(attrs, slog.String("event", "cleanup_failed"), slog.String("error", err.Error()),
				slog.String("next", "nothing is lost, and the next clean-up goes on; `rowrelay outbox cleanup "+name+
					"` tries it now, `rowrelay check` shows what is missing"))...)
		return err
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "clean-up complete", append(attrs, slog.String("event", "cleanup_complete"))...)
	return nil
}

func guardedCleanup(ctx context.Context, cleanup func(context.Context) (Cleaned, error)) (did Cleaned, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{value: fmt.Sprint(r), stack: string(debug.Stack())}
		}
	}()
	return cleanup(ctx)
}
