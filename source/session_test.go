package source

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestUnreachable: a database that cannot be reached is not reported as a slow statement.
func TestUnreachable(t *testing.T) {
	// accepts in the backlog, and never answers
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := silent.Close(); err != nil {
			t.Error(err)
		}
	})
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address, word string
		timeout       time.Duration
	}{{silent.Addr().String(), "within source__timeout (1s)", time.Second}, {refusing, "3 attempts", time.Minute}} {
		for _, url := range []string{
			"postgres://u:p@" + c.address + "/d?sslmode=disable", "mysql://u:p@" + c.address + "/d",
			"sqlserver://u:p@" + c.address + "?database=d&encrypt=disable",
		} {
			conn, err := engines.Parse(url)
			if err != nil {
				t.Fatal(err)
			}
			src, err := New(plan.Config{Poller: "p", Table: "o", Cursor: []string{"v"}, Timeout: c.timeout}, conn)
			if err != nil {
				t.Fatal(err)
			}
			_, err = src.Describe(t.Context())
			if err == nil || errors.Is(err, poller.ErrConfig) || strings.Contains(err.Error(), "statement took") ||
				strings.Contains(err.Error(), "index") {
				t.Errorf("%s: %v", conn, err)
			} else if !strings.Contains(err.Error(), "cannot connect") || !strings.Contains(err.Error(),
				c.word) || !strings.Contains(err.Error(), "firewall") {
				t.Errorf("%s: %v", conn, err)
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestBusyConnections: to wait for a free connection in vain is neither a slow statement nor an unreachable database.
func TestBusyConnections(t *testing.T) {
	src := openSource(t, testenv.SQLite(t), "sqlite",
		plan.Config{Table: "o", Cursor: []string{"v"}, Connections: 1, Timeout: 50 * time.Millisecond},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL)")
	src.sessions.slots <- struct{}{}
	_, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
	if err == nil || !strings.Contains(err.Error(), "all 1 connections (source__connections) are busy") ||
		strings.Contains(err.Error(), "index") {
		t.Error(err)
	}
	if len(src.sessions.slots) != 1 {
		t.Errorf("%d slots are in use, one is", len(src.sessions.slots))
	}
}

// TestPanicUnderWork: whoever recovers from a panic above finds the connection's place free again, and its session
// gone.
func TestPanicUnderWork(t *testing.T) {
	src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}, Connections: 1},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL)")
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = src.sessions.run(t.Context(), func(context.Context, *session) error { panic("a bug") })
		}()
	}
	pool := src.sessions.pool
	if open := pool.db.Stats().OpenConnections; len(src.sessions.slots)+len(pool.slots)+len(pool.idle)+open != 0 {
		t.Errorf("%d slots in use, %d of the pool, %d sessions kept, %d connections open", len(src.sessions.slots),
			len(pool.slots), len(pool.idle), open)
	}
	if _, err := src.Fetch(t.Context(), change.Range{After: nil}, everything); err != nil {
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

// TestReleaseUnlocked: while a session is given up, which waits for the network, others fetch.
func TestReleaseUnlocked(t *testing.T) {
	url := testenv.SQLite(t)
	openSource(t, url, "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL)")
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	slow := slowCloser{conn.Connectors.Reading, make(chan struct{}), make(chan struct{})}
	conn.Connectors.Reading = slow
	src, err := New(plan.Config{Poller: "p", Table: "o", Cursor: []string{"v"}}, conn)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- src.sessions.run(context.WithoutCancel(t.Context()), func(_ context.Context, s *session) error {
			s.broken = true
			return nil
		})
	}()
	select {
	case <-slow.closing:
	case err := <-done:
		t.Fatalf("the session was not ended: %v", err)
	}
	if !src.mu.TryLock() {
		t.Error("the source is locked while a connection is closed")
	} else {
		src.mu.Unlock()
	}
	close(slow.closed)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}
