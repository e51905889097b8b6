package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// sessions are the physical connections of a source, at most source__connections of them. Whatever is asked of the
// database goes through run, which bounds, repeats and explains. It is safe for concurrent use.
type sessions struct {
	dialect engine.Dialect
	db      *sql.DB
	// name is the source for messages, timeout is source__timeout.
	name    string
	timeout time.Duration
	// slots holds a token for every session in use.
	slots chan struct{}
	// withLocks says that a session was refused to read row versions here; refused is told when that is found out.
	withLocks atomic.Bool
	refused   func()

	mu     sync.Mutex
	closed bool
	idle   []*session
}

// close closes every connection.
func (ss *sessions) close() error {
	ss.mu.Lock()
	idle := ss.idle
	ss.idle, ss.closed = nil, true
	ss.mu.Unlock()
	for _, s := range idle {
		s.discard()
	}
	if err := ss.db.Close(); err != nil {
		return fmt.Errorf("close the source's connections: %w", err)
	}
	return nil
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
func (ss *sessions) acquire(ctx context.Context) (*session, error) {
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
	s, err := ss.take(ctx)
	taken = err == nil
	return s, err
}

func (ss *sessions) take(ctx context.Context) (*session, error) {
	for {
		s := ss.pop()
		if s == nil {
			return ss.open(ctx)
		}
		refused := s.server.Versions && ss.withLocks.Load()
		if !refused && time.Since(s.used) < sessionIdle && time.Since(s.opened) < sessionLife {
			return s, nil
		}
		s.discard()
	}
}

func (ss *sessions) pop() *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if len(ss.idle) == 0 {
		return nil
	}
	s := ss.idle[len(ss.idle)-1]
	ss.idle = ss.idle[:len(ss.idle)-1]
	return s
}

func (ss *sessions) open(ctx context.Context) (*session, error) { return ss.openWith(ctx, ss.timeout) }

// openWith opens a session whose statements the server bounds by a timeout.
func (ss *sessions) openWith(ctx context.Context, timeout time.Duration) (*session, error) {
	conn, err := ss.db.Conn(ctx)
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
	if s.server, err = ss.dialect.Prepare(ctx, conn,
		engine.Settings{Timeout: timeout, WithLocks: ss.withLocks.Load()}); err != nil {
		return nil, fmt.Errorf("%w: prepare the connection: %w", errConnect, err)
	}
	prepared = true
	return s, nil
}

// release keeps a session for the next fetch, or ends it.
func (ss *sessions) release(s *session) {
	defer func() { <-ss.slots }()
	s.used, s.fresh = time.Now(), false
	if !ss.keep(s) {
		s.discard() // outside the lock: it waits for the network
	}
}

func (ss *sessions) keep(s *session) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed || s.broken {
		return false
	}
	ss.idle = append(ss.idle, s)
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
	s, err := ss.acquire(bounded)
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
	select {
	case ss.slots <- struct{}{}:
	case <-ctx.Done():
		return ss.explain(ctx, engine.FaultBusy, fmt.Errorf("%w: %w", errBusy, context.Cause(ctx)))
	}
	defer func() { <-ss.slots }()
	if idle := ss.pop(); idle != nil {
		idle.discard() // a kept session counts against the pool's limit, which the new one must find room in
	}
	s, err := ss.openWith(ctx, longest)
	if err == nil {
		defer s.discard()
		err = work(ctx, s)
	}
	if err != nil && !errors.Is(err, poller.ErrConfig) {
		return ss.explain(ctx, ss.classify(ctx, ctx, err), err)
	}
	return err
}
