package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Share returns a source's use of the pool: at most n sessions at the same time, prepared with these settings. name is
// the source in messages. refused is called when the server turns out to refuse row versions to a session:
// sessions of this share wait for locks from then on. It is called by the goroutine that runs the work.
func (p *Pool) Share(name string, n int, with engine.Settings, refused func()) *Share {
	return &Share{dialect: p.Connection.Dialect, pool: p, name: name, timeout: with.Timeout, whole: with.Whole,
		slots: make(chan struct{}, n), refused: refused}
}

// Looks is what the pool's sources were last shown of the server's transactions.
func (sh *Share) Looks() *engine.Looks { return &sh.pool.looks }

// acquire waits until fewer than source__connections sessions are in use by this source, and then for the pool.
func (sh *Share) acquire(ctx context.Context, timeout time.Duration) (*Session, error) {
	select {
	case sh.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errBusy, context.Cause(ctx))
	}
	taken := false
	defer func() {
		if !taken {
			<-sh.slots
		}
	}()
	s, err := sh.pool.acquire(ctx, engine.Settings{Timeout: timeout, WithLocks: sh.withLocks.Load(), Whole: sh.whole})
	taken = err == nil
	return s, err
}

func (sh *Share) release(s *Session) {
	sh.pool.release(s)
	<-sh.slots
}

// Run calls work with a session, under source__timeout, and repeats it after a transient fault, at most three times in
// all. work must be repeatable. Its error comes back explained.
func (sh *Share) Run(ctx context.Context, work func(context.Context, *Session) error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 200*time.Millisecond, 2*time.Second
	stale := 0
	for try := 1; ; try++ {
		kind, fresh, err := sh.once(ctx, work)
		if err == nil {
			return nil
		}
		if kind == engine.FaultVersions && try < tries {
			sh.withLocks.Store(true)
			sh.refused()
			continue
		}
		if kind == engine.FaultTimeout && !fresh {
			sh.pool.doubt() // a firewall may have forgotten all that were kept
		}
		if kind != engine.FaultTransient || ctx.Err() != nil || try-stale >= tries {
			return sh.explain(ctx, kind, err)
		}
		if !fresh && stale == 0 {
			// The first failure of a kept connection says that it had died, not that the server is unwell.
			stale++
			sh.pool.doubt()
			continue
		}
		if err := clock.Sleep(ctx, wait.NextBackOff()); err != nil {
			return sh.explain(ctx, kind, err)
		}
	}
}

// once is one attempt. A session that saw a fault or a panic is not used again: its state is not known.
func (sh *Share) once(ctx context.Context, work func(context.Context, *Session) error) (kind engine.Fault,
	fresh bool, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, sh.timeout, errTimeout)
	defer cancel()
	s, err := sh.acquire(bounded, sh.timeout)
	if err != nil {
		return sh.classify(ctx, bounded, err), true, err
	}
	fresh = s.fresh
	sound := false
	defer func() {
		s.Broken = s.Broken || !sound
		sh.release(s)
	}()
	if err := work(bounded, s); err != nil {
		return sh.classify(ctx, bounded, err), fresh, err
	}
	sound = true
	return engine.FaultOther, fresh, nil
}

var (
	errTimeout = errors.New("source__timeout")
)

// classify asks the dialect what an error means, except where every engine's answer is the same.
func (sh *Share) classify(ctx, bounded context.Context, err error) engine.Fault {
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
	return engine.Classify(sh.dialect, err)
}

// longest is how long a statement of an operator may take: as good as without a bound, and still one that every server
// takes for its own limits. The context ends it before.
const longest = 24 * time.Hour

// Patiently does work on a connection of its own, which the server gives as much time as ctx does. It is closed
// afterwards.
func (sh *Share) Patiently(ctx context.Context, work func(context.Context, *Session) error) error {
	s, err := sh.acquire(ctx, longest)
	if err == nil {
		defer sh.release(s)
		s.Broken = true
		err = work(ctx, s)
	}
	if err != nil && !errors.Is(err, poller.ErrConfig) {
		return sh.explain(ctx, sh.classify(ctx, ctx, err), err)
	}
	return err
}
