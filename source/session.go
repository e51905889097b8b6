package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// session is one physical connection, kept between fetches so that an idle fetch costs one round trip: what is true for
// the connection (its settings, the database's incarnation) is established once, when it is opened.
type session struct {
	conn         *sql.Conn
	server       engine.Server
	opened, used time.Time
	fresh        bool // just opened: it cannot have gone stale in the pool
	broken       bool // given up by its user: not to be used again
}

// A session that was idle for longer may have been dropped by a gateway without a word (Azure's do after four minutes
// and more), and no connection outlives a failover for ever.
const (
	sessionIdle = 2 * time.Minute
	sessionLife = 30 * time.Minute
)

// tries bounds the attempts of one statement.
const tries = 3

// acquire waits until fewer than source__connections sessions are in use, then takes a kept session or opens one. (The
// pool's own limit would not do: who waits there does not see a session that is given back here.)
func (c *Cursor) acquire(ctx context.Context) (*session, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errBusy, context.Cause(ctx))
	}
	taken := false
	defer func() {
		if !taken {
			<-c.slots
		}
	}()
	s, err := c.take(ctx)
	taken = err == nil
	return s, err
}

func (c *Cursor) take(ctx context.Context) (*session, error) {
	for {
		s := c.pop()
		if s == nil {
			return c.open(ctx)
		}
		refused := s.server.Versions && c.withLocks.Load()
		if !refused && time.Since(s.used) < sessionIdle && time.Since(s.opened) < sessionLife {
			return s, nil
		}
		s.discard()
	}
}

func (c *Cursor) pop() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == 0 {
		return nil
	}
	s := c.idle[len(c.idle)-1]
	c.idle = c.idle[:len(c.idle)-1]
	return s
}

func (c *Cursor) open(ctx context.Context) (*session, error) { return c.openWith(ctx, c.cfg.Timeout) }

// openWith opens a session whose statements the server bounds by a timeout.
func (c *Cursor) openWith(ctx context.Context, timeout time.Duration) (*session, error) {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConnect, err)
	}
	s := &session{conn: conn, opened: time.Now(), fresh: true}
	prepared := false
	defer func() {
		if !prepared {
			s.discard()
		}
	}()
	if s.server, err = c.dialect.Prepare(ctx, conn, engine.Settings{Timeout: timeout, WithLocks: c.withLocks.Load()}); err != nil {
		return nil, fmt.Errorf("%w: prepare the connection: %w", errConnect, err)
	}
	prepared = true
	return s, nil
}

// release keeps a session for the next fetch, or ends it.
func (c *Cursor) release(s *session) {
	defer func() { <-c.slots }()
	s.used, s.fresh = time.Now(), false
	if !c.keep(s) {
		s.discard() // outside the lock: it waits for the network
	}
}

func (c *Cursor) keep(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || s.broken {
		return false
	}
	c.idle = append(c.idle, s)
	return true
}

// discard closes the physical connection: what is in doubt is not given back to the pool.
func (s *session) discard() {
	// Raw's ErrBadConn makes database/sql close the driver's connection; both errors say only that it is gone already.
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
}

// run calls work with a session, under source__timeout, and repeats it after a transient fault, at most three times in
// all. work must be repeatable. Its error comes back explained.
func (c *Cursor) run(ctx context.Context, work func(context.Context, *session) error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 200*time.Millisecond, 2*time.Second
	stale := 0
	for try := 1; ; try++ {
		kind, fresh, err := c.once(ctx, work)
		if err == nil {
			return nil
		}
		if kind == engine.FaultVersions && try < tries {
			c.withLocks.Store(true)
			c.replan() // a plan knows whether reads wait for locks
			continue
		}
		if kind != engine.FaultTransient || ctx.Err() != nil || try-stale >= tries {
			return c.explain(ctx, kind, err)
		}
		if !fresh && stale == 0 {
			// The first failure of a kept connection says that it had died, not that the server is unwell.
			stale++
			continue
		}
		if err := clock.Sleep(ctx, wait.NextBackOff()); err != nil {
			return c.explain(ctx, kind, err)
		}
	}
}

// once is one attempt. A session that saw a fault or a panic is not used again: its state is not known.
func (c *Cursor) once(ctx context.Context, work func(context.Context, *session) error) (kind engine.Fault, fresh bool, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errTimeout)
	defer cancel()
	s, err := c.acquire(bounded)
	if err != nil {
		return c.classify(ctx, bounded, err), true, err
	}
	fresh = s.fresh
	sound := false
	defer func() {
		s.broken = s.broken || !sound
		c.release(s)
	}()
	if err := work(bounded, s); err != nil {
		return c.classify(ctx, bounded, err), fresh, err
	}
	sound = true
	return engine.FaultOther, fresh, nil
}

var (
	errTimeout = errors.New("source__timeout")
	errBusy    = errors.New("wait for a connection")
	errConnect = errors.New("connect")
)

// classify asks the dialect what an error means, except where every engine's answer is the same.
func (c *Cursor) classify(ctx, bounded context.Context, err error) engine.Fault {
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
	return engine.Classify(c.dialect, err)
}
