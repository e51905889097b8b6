package pool

import (
	"context"
	"database/sql/driver"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// of returns a pool of n connections to a database.
func of(t *testing.T, url string, n int) *Pool {
	t.Helper()
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	pool := New(conn, n)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// sqlite returns a database that exists.
func sqlite(t *testing.T) string {
	t.Helper()
	url := testenv.SQLite(t)
	testenv.Exec(t, testenv.Open(t, "sqlite", strings.TrimPrefix(url, "sqlite:")), "CREATE TABLE o (id INTEGER)")
	return url
}

// share returns a source's use of the pool that refuses no row versions.
func (p *Pool) share(n int, timeout time.Duration) *Share {
	return p.Share("o", n, engine.Settings{Timeout: timeout}, func() {})
}

// one asks the database for a number.
func one(ctx context.Context, s *Session) error {
	var n int
	return s.Conn.QueryRowContext(ctx, "SELECT 1").Scan(&n)
}

// TestSharedPool: forty sources on three connections, whose sessions are not all prepared alike, ask at once, five
// times each. None waits in vain, and no more connections are open than the pool has.
func TestSharedPool(t *testing.T) {
	pool := of(t, testenv.Postgres(t), 3)
	var all sync.WaitGroup
	for i := range 40 {
		share := pool.share(4, time.Duration(20+i%5)*time.Second)
		all.Go(func() {
			for range 5 {
				if err := share.Run(t.Context(), one); err != nil {
					t.Error(err)
				}
				if open := pool.db.Stats().OpenConnections; open > 3 {
					t.Errorf("%d connections are open", open)
				}
			}
		})
	}
	all.Wait()
}

// TestAllOfAPoolDied: the server ended every connection while none was used. That is no reason to fail, however many
// they were: more than a statement has attempts.
func TestAllOfAPoolDied(t *testing.T) {
	url := testenv.Postgres(t)
	const n = tries + 3
	pool := of(t, url, n)
	var all, open sync.WaitGroup
	open.Add(n)
	for range n {
		all.Go(func() {
			if err := pool.share(1, time.Minute).Run(t.Context(), func(context.Context, *Session) error {
				open.Done()
				open.Wait()
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(pool.idle) != n {
		t.Fatalf("%d sessions are kept, want %d", len(pool.idle), n)
	}
	testenv.Exec(t, testenv.Open(t, "pgx", url), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
		"WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err := pool.share(1, time.Minute).Run(t.Context(), one); err != nil {
		t.Error(err)
	}
}

// TestSilentSession: after a kept connection has brought no answer in time, the others that were kept with it are not
// waited for as well, and the error speaks of the network.
func TestSilentSession(t *testing.T) {
	pool := of(t, testenv.Postgres(t), 2)
	share := pool.share(2, time.Second)
	if err := share.Run(t.Context(), func(ctx context.Context, _ *Session) error {
		return share.Run(ctx, one)
	}); err != nil {
		t.Fatal(err)
	}
	if len(pool.idle) != 2 {
		t.Fatalf("%d sessions are kept", len(pool.idle))
	}
	left := pool.idle[0]
	err := share.Run(t.Context(), func(ctx context.Context, _ *Session) error {
		<-ctx.Done() // as a connection on which nothing arrives
		return ctx.Err()
	})
	if err == nil || !strings.Contains(err.Error(), "no answer within source__timeout (1s): check the network") {
		t.Error(err)
	}
	if err := share.Run(t.Context(), func(_ context.Context, s *Session) error {
		if s == left {
			t.Error("another one that was kept is used")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestCrowdedPool: who waits for the others' connections in vain is told of these, and not of his own.
func TestCrowdedPool(t *testing.T) {
	pool := of(t, sqlite(t), 1)
	share := pool.share(1, 50*time.Millisecond)
	pool.slots <- struct{}{}
	err := share.Run(t.Context(), one)
	if err == nil || !strings.Contains(err.Error(), "all 1 connections that the pollers of this database share are busy") {
		t.Error(err)
	}
	<-pool.slots
	if err := share.Run(t.Context(), one); err != nil {
		t.Error(err)
	}
}

// TestPanicUnderWork: whoever recovers from a panic above finds the connection's place free again, and its session
// gone.
func TestPanicUnderWork(t *testing.T) {
	pool := of(t, sqlite(t), 1)
	share := pool.share(1, time.Minute)
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = share.Run(t.Context(), func(context.Context, *Session) error { panic("a bug") })
		}()
	}
	if open := pool.db.Stats().OpenConnections; len(share.slots)+len(pool.slots)+len(pool.idle)+open != 0 {
		t.Errorf("%d slots in use, %d of the pool, %d sessions kept, %d connections open", len(share.slots),
			len(pool.slots), len(pool.idle), open)
	}
	if err := share.Run(t.Context(), one); err != nil {
		t.Error(err)
	}
}

// slowCloser is a connection whose end takes as long as the network wants.
type slowCloser struct {
	driver.Connector
	closing, closed chan struct{}
}

func (c slowCloser) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return slowConn{conn, c}, err
}

type slowConn struct {
	driver.Conn
	connector slowCloser
}

func (c slowConn) Close() error {
	c.connector.closing <- struct{}{}
	<-c.connector.closed
	return c.Conn.Close()
}

// TestReleaseUnlocked: while a session is given up, which waits for the network, others use the pool.
func TestReleaseUnlocked(t *testing.T) {
	conn, err := engines.Parse(sqlite(t))
	if err != nil {
		t.Fatal(err)
	}
	slow := slowCloser{conn.Connectors.Reading, make(chan struct{}), make(chan struct{})}
	conn.Connectors.Reading = slow
	pool := New(conn, 2)
	done := make(chan error, 1)
	go func() {
		done <- pool.share(1, time.Minute).Run(context.WithoutCancel(t.Context()), func(_ context.Context, s *Session) error {
			s.Broken = true
			return nil
		})
	}()
	select {
	case <-slow.closing:
	case err := <-done:
		t.Fatalf("the session was not ended: %v", err)
	}
	if !pool.mu.TryLock() {
		t.Error("the pool is locked while a connection is closed")
	} else {
		pool.mu.Unlock()
	}
	close(slow.closed)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

// TestStaleSession: a session that was idle for too long is not used again.
func TestStaleSession(t *testing.T) {
	share := of(t, sqlite(t), 1).share(1, time.Minute)
	used := func() (s *Session) {
		t.Helper()
		if err := share.Run(t.Context(), func(_ context.Context, its *Session) error {
			s = its
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := used()
	if used() != first {
		t.Error("the session was not used again")
	}
	first.used = first.used.Add(-sessionIdle)
	if used() == first {
		t.Error("a session was used again after two idle minutes")
	}
}
