package wiring

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// heard has the log told when an output is not answered any more: a tick goes on trying, and tells at its end, which
// may be minutes later. It is told once, until there is an answer. A nil log is told nothing.
func heard(to poller.Output, log *slog.Logger, name, output string) poller.Output {
	if log == nil {
		return to
	}
	attrs := []slog.Attr{slog.String("event", "request_unanswered"), slog.String("poller", name)}
	if output != "" {
		attrs = append(attrs, slog.String("output", output))
	}
	return &listener{Output: to, log: log, attrs: attrs}
}

// listener is an output that several requests may use at once.
type listener struct {
	poller.Output
	log    *slog.Logger
	attrs  []slog.Attr
	silent atomic.Bool
}

// Deliver delivers, and returns what the output does.
func (l *listener) Deliver(ctx context.Context, d change.Delivery) error {
	err := l.Output.Deliver(ctx, d)
	// late: a status may have come, but not the whole of a body that is needed.
	late := err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case answered(err, len(d.Events)) && !late:
		l.silent.Store(false)
	case errors.Is(ctx.Err(), context.Canceled): // the tick gave it up
	case !errors.Is(err, poller.ErrCut) && !l.silent.Swap(true):
		l.log.LogAttrs(ctx, slog.LevelWarn, "a request was not answered: the tick goes on trying",
			append(l.attrs, slog.String("error", err.Error()))...)
	}
	return err
}

// answered reports whether the destination said anything about a request of n events.
func answered(err error, n int) bool {
	var said *poller.DeliveryError
	if !errors.As(err, &said) || len(said.Failed) == 0 {
		return err == nil
	}
	first := said.Failed[0]
	return first.Status != 0 || first.Named || first.Cause != poller.Unavailable || said.RetryAfter > 0 ||
		len(said.Failed) < n
}
