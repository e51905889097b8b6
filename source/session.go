package source

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// sessions are how a source uses its pool: at most source__connections at the same time. Whatever is asked of the
// database goes through run, which bounds, repeats and explains. It is safe for concurrent use.
type sessions struct {
	dialect engine.Dialect
	pool    *Pool
	// name is the source for messages, timeout is source__timeout.
	name    string
	timeout time.Duration
	// slots holds a token for every session in use.
	slots chan struct{}
	// withLocks says that a session was refused to read row versions here; refused is told when that is found out.
	withLocks atomic.Bool
	refused   func()
}

// tries bounds the attempts of one statement.
const tries = 3

// acquire waits until fewer than source__connections sessions are in use by this source, and then for the pool.
func (ss *sessions) acquire(ctx context.Context, timeout time.Duration) (*session, error) {
	select {
	case ss.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errBusy, context.Cause(ctx))
	}
	taken := false
	defer func() {
		if !taken {
			<-ss.slots
		}
	}()
	s, err := ss.pool.acquire(ctx, engine.Settings{Timeout: timeout, WithLocks: ss.withLocks.Load()})
	taken = err == nil
	return s, err
}

func (ss *sessions) release(s *session) {
	ss.pool.release(s)
	<-ss.slots
}

// run calls work with a session, under source__timeout, and repeats it after a transient fault, at most three times in
// all. work must be repeatable. Its error comes back explained.
func (ss *sessions) run(ctx context.Context, work func(context.Context, *session) error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 200*time.Millisecond, 2*time.Second
	stale := 0
	for try := 1; ; try++ {
		kind, fresh, err := ss.once(ctx, work)
		if err == nil {
			return nil
		}
		if kind == engine.FaultVersions && try < tries {
			ss.withLocks.Store(true)
			ss.refused()
			continue
		}
		if kind != engine.FaultTransient || ctx.Err() != nil || try-stale >= tries {
			return ss.explain(ctx, kind, err)
		}
		if !fresh && stale == 0 {
			// The first failure of a kept connection says that it had died, not that the server is unwell.
			stale++
			ss.pool.doubt()
			continue
		}
		if err := clock.Sleep(ctx, wait.NextBackOff()); err != nil {
			return ss.explain(ctx, kind, err)
		}
	}
}

// once is one attempt. A session that saw a fault or a panic is not used again: its state is not known.
func (ss *sessions) once(ctx context.Context, work func(context.Context, *session) error) (kind engine.Fault,
	fresh bool, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, ss.timeout, errTimeout)
	defer cancel()
	s, err := ss.acquire(bounded, ss.timeout)
	if err != nil {
		return ss.classify(ctx, bounded, err), true, err
	}
	fresh = s.fresh
	sound := false
	defer func() {
		s.broken = s.broken || !sound
		ss.release(s)
	}()
	if err := work(bounded, s); err != nil {
		return ss.classify(ctx, bounded, err), fresh, err
	}
	sound = true
	return engine.FaultOther, fresh, nil
}

var (
	errTimeout = errors.New("source__timeout")
	errBusy    = errors.New("wait for a connection")
	errCrowded = fmt.Errorf("%w of the pool", errBusy)
	errConnect = errors.New("connect")
)

// classify asks the dialect what an error means, except where every engine's answer is the same.
func (ss *sessions) classify(ctx, bounded context.Context, err error) engine.Fault {
	switch {
	case errors.Is(err, poller.ErrConfig), errors.Is(err, poller.ErrNormalize), ctx.Err() != nil:
		return engine.FaultOther
	case errors.Is(err, errBusy):
		return engine.FaultBusy
	case errors.Is(context.Cause(bounded), errTimeout) && errors.Is(err, errConnect):
		return engine.FaultConnect
	case errors.Is(context.Cause(bounded), errTimeout):
		return engine.FaultTimeout
	}
	return engine.Classify(ss.dialect, err)
}

// longest is how long a statement of an operator may take: as good as without a bound, and still one that every server
// takes for its own limits. The context ends it before.
const longest = 24 * time.Hour

// patiently does work on a connection of its own, which the server gives as much time as ctx does. It is closed
// afterwards.
func (ss *sessions) patiently(ctx context.Context, work func(context.Context, *session) error) error {
	s, err := ss.acquire(ctx, longest)
	if err == nil {
		defer ss.release(s)
		s.broken = true
		err = work(ctx, s)
	}
	if err != nil && !errors.Is(err, poller.ErrConfig) {
		return ss.explain(ctx, ss.classify(ctx, ctx, err), err)
	}
	return err
}
