package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// ExitRestart is the exit code by which a worker asks the Functions host to start it anew. The host does so at once
// and does not count it. After 0 hosts before 2026 start no worker any more, say that they run, and fail every
// invocation; any other code counts, and the third within half an hour shuts the host down.
const ExitRestart = 200

// RestartError ends the process with [ExitRestart].
type RestartError struct{ Err error }

func (e *RestartError) Error() string { return e.Err.Error() }
func (e *RestartError) Unwrap() error { return e.Err }

// What there is time for when the host's worker is told to stop: the host and the platform below it wait for seconds,
// not for output__timeout.
const (
	RequestsEnd = 3 * time.Second // requests under way are given up then, and what was accepted is committed
	TicksEnd    = 6 * time.Second // ticks, and the answers to their invocations
	WorkerEnds  = 7 * time.Second // and the page's actions, connections, and the last export
)

// Within does something until ctx ends, and then leaves it alone.
func Within(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stoppable lets the end of cut give up the requests of an output. A nil cut never ends.
func Stoppable(cut context.Context, to poller.Output) poller.Output {
	if cut == nil {
		return to
	}
	return &stoppable{to, cut}
}

type stoppable struct {
	poller.Output
	cut context.Context //nolint:containedctx // the process's, not a request's
}

// Deliver is the output's own, whose error is poller.ErrCut as well where it came of the cut.
func (o *stoppable) Deliver(ctx context.Context, d change.Delivery) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(o.cut, func() { cancel(poller.ErrCut) })()
	err := o.Output.Deliver(ctx, d)
	if err != nil && errors.Is(context.Cause(ctx), poller.ErrCut) {
		return fmt.Errorf("%w: %w", poller.ErrCut, err)
	}
	return err
}
