package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/poller"
)

// exitRestart is the exit code by which a worker asks the Functions host to start it anew. The host does so at once
// and does not count it. After 0 hosts before 2026 start no worker any more, say that they run, and fail every
// invocation; any other code counts, and the third within half an hour shuts the host down.
const exitRestart = 200

// restartError ends the process with exitRestart.
type restartError struct{ err error }

func (e *restartError) Error() string { return e.err.Error() }
func (e *restartError) Unwrap() error { return e.err }

// What there is time for when the host's worker is told to stop: the host and the platform below it wait for seconds,
// not for output__timeout.
const (
	requestsEnd = 3 * time.Second // requests under way are given up then, and what was accepted is committed
	ticksEnd    = 6 * time.Second // ticks, and the answers to their invocations
	workerEnds  = 7 * time.Second // and the page's actions, connections, and the last export
)

// stopGrace is how long a tick may need to end where no host is in a hurry: the requests under way, then one commit.
func stopGrace(cfg *config.App) time.Duration {
	longest := time.Duration(0)
	for _, p := range cfg.Pollers {
		for i := range p.Outputs {
			longest = max(longest, p.Outputs[i].Timeout)
		}
	}
	return longest + 10*time.Second
}

// within does something until ctx ends, and then leaves it alone.
func within(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stoppable lets the end of a.cut give up the requests of an output.
func (a *app) stoppable(to poller.Output) poller.Output {
	if a.cut == nil {
		return to
	}
	return &stoppableOutput{to, a.cut}
}

type stoppableOutput struct {
	poller.Output
	cut context.Context //nolint:containedctx // the process's, not a request's
}

// Deliver is the output's own, whose error is poller.ErrCut as well where it came of the cut.
func (o *stoppableOutput) Deliver(ctx context.Context, d change.Delivery) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(o.cut, func() { cancel(poller.ErrCut) })()
	err := o.Output.Deliver(ctx, d)
	if err != nil && errors.Is(context.Cause(ctx), poller.ErrCut) {
		return fmt.Errorf("%w: %w", poller.ErrCut, err)
	}
	return err
}
