// Package pool is how sources ask a database: connections for reading that the pollers of one connection string share,
// and what one source may use of them.
//
// A [Pool] keeps [Session]s: connections that are prepared, so that an idle fetch costs one round trip. A [Share] is
// one source's use of a pool. Whatever a source asks goes through [Share.Run]: it waits for a session, bounds the work
// by source__timeout, repeats it after a transient fault, at most three times in all and each time on another
// connection, and explains what failed and what to do. Errors wrap poller.ErrConfig where settings or rights are at
// fault, and poller.ErrLogin where the login was refused.
//
// All of it is safe for concurrent use, but for a Session, which is its user's alone for as long as the work runs.
package pool

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/engine"
)

// Session is one physical connection, kept between fetches so that an idle fetch costs one round trip: what is true for
// the connection (its settings, the database's incarnation) is established once, when it is opened. Its user keeps no
// part of it beyond the work that it was given to.
type Session struct {
	Conn *sql.Conn
	// ID is no other session's of this process.
	ID uint64
	// Server is what it said when it was prepared, and what its user has refreshed since.
	Server engine.Server
	// Broken says that its user has given it up: it is not to be used again.
	Broken bool

	// Opened is when it was.
	Opened time.Time

	settings engine.Settings // as it was prepared
	used     time.Time
	fresh    bool // just opened: it cannot have gone stale in the pool
}

// opened counts sessions.
var opened atomic.Uint64

// Pool is the connections of one process to one database for reading: all sources that name it share them, and a
// source that has nothing to do holds none. It is safe for concurrent use.
type Pool struct {
	// Connection is what it connects to. It must not be changed.
	Connection engine.Connection
	db         *sql.DB
	// slots holds a token for every session in use. Who waits for one is served in turn.
	slots chan struct{}

	mu     sync.Mutex
	closed bool
	idle   []*Session // the one used last is the last
	// doubted is when a kept session turned out to be dead: those that were not used since may have died with it.
	doubted time.Time

	looks engine.Looks
}

// New returns a pool of at most n connections. It does not connect yet.
func New(conn engine.Connection, n int) *Pool {
	return &Pool{Connection: conn, db: conn.ReadDB(n), slots: make(chan struct{}, n)}
}

// Close closes every connection. Sources must not be used any more.
func (p *Pool) Close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, s := range idle {
		s.discard()
	}
	if err := p.db.Close(); err != nil {
		return fmt.Errorf("close the connections for reading: %w", err)
	}
	return nil
}

// A session that was idle for longer may have been dropped by a gateway without a word (Azure's do after four minutes
// and more), and no connection outlives a failover for ever.
const (
	sessionIdle = 2 * time.Minute
	sessionLife = 30 * time.Minute
)

// acquire waits until a session may be used, then takes one that was kept and suits, or opens one. (The limit of the
// sql.DB would not do: who waits there does not see a session that is given back here.)
func (p *Pool) acquire(ctx context.Context, with engine.Settings) (*Session, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errCrowded, context.Cause(ctx))
	}
	taken := false
	defer func() {
		if !taken {
			<-p.slots
		}
	}()
	s, err := p.take(ctx, with)
	taken = err == nil
	return s, err
}

func (p *Pool) take(ctx context.Context, with engine.Settings) (*Session, error) {
	for {
		s, sound := p.pop(with)
		if s == nil {
			return p.open(ctx, with)
		}
		if sound {
			return s, nil
		}
		s.discard() // outside the lock: it waits for the network
	}
}

// pop takes the idle session that was used last of those that suit, and says whether it may be used. Where none suits
// and all connections are open, it takes the one that was idle for longest: it makes room for another.
func (p *Pool) pop(with engine.Settings) (s *Session, sound bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range slices.Backward(p.idle) {
		if s.settings == with {
			p.idle = slices.Delete(p.idle, i, i+1)
			return s, s.used.After(p.doubted) && time.Since(s.used) < sessionIdle && time.Since(s.Opened) < sessionLife
		}
	}
	if len(p.idle) == 0 || len(p.slots)+len(p.idle) <= cap(p.slots) {
		return nil, false
	}
	s = p.idle[0]
	p.idle = slices.Delete(p.idle, 0, 1)
	return s, false
}

// doubt lets nobody use the sessions that are idle now.
func (p *Pool) doubt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubted = time.Now()
}

func (p *Pool) open(ctx context.Context, with engine.Settings) (*Session, error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConnect, err)
	}
	s := &Session{Conn: conn, ID: opened.Add(1), settings: with, Opened: time.Now(), fresh: true}
	prepared := false
	defer func() {
		if !prepared {
			s.discard()
		}
	}()
	if s.Server, err = p.Connection.Dialect.Prepare(ctx, conn, with); err != nil {
		return nil, fmt.Errorf("%w: prepare the connection: %w", errConnect, err)
	}
	prepared = true
	return s, nil
}

// release keeps a session for the next fetch, or ends it.
func (p *Pool) release(s *Session) {
	defer func() { <-p.slots }()
	s.used, s.fresh = time.Now(), false
	if !p.keep(s) {
		s.discard()
	}
}

func (p *Pool) keep(s *Session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || s.Broken {
		return false
	}
	p.idle = append(p.idle, s)
	return true
}

// discard closes the physical connection: what is in doubt is not given back to the pool.
func (s *Session) discard() {
	// Raw's ErrBadConn makes database/sql close the driver's connection; both errors say only that it is gone already.
	_ = s.Conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.Conn.Close()
}

// Share is what one source uses of a pool: at most source__connections sessions at the same time. Whatever is asked of
// the database goes through Run, which bounds, repeats and explains. It is safe for concurrent use.
type Share struct {
	dialect engine.Dialect
	pool    *Pool
	// name is the source for messages, timeout is source__timeout.
	name    string
	timeout time.Duration
	// whole is engine.Settings.Whole.
	whole bool
	// slots holds a token for every session in use.
	slots chan struct{}
	// withLocks says that a session was refused to read row versions here; refused is told when that is found out.
	withLocks atomic.Bool
	refused   func()
}

var (
	errConnect = errors.New("connect")
	errBusy    = errors.New("wait for a connection")
	errCrowded = fmt.Errorf("%w of the pool", errBusy)
)

// tries bounds the attempts of one statement.
const tries = 3
