package source

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// TestUnreachable: a database that cannot be reached is not reported as a slow statement.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
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
	}{{silent.Addr().String(), "in time", time.Second}, {refusing, "3 attempts", time.Minute}} {
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
	t.Parallel()
	src := openSource(t, testenv.SQLite(t), "sqlite",
		plan.Config{Table: "o", Cursor: []string{"v"}, Connections: 1, Timeout: 50 * time.Millisecond},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL)")
	var err error
	if held := src.sessions.Patiently(t.Context(), func(context.Context, *pool.Session) error {
		_, err = src.Fetch(t.Context(), change.Range{After: nil}, everything)
		return nil
	}); held != nil {
		t.Fatal(held)
	}
	if err == nil || !strings.Contains(err.Error(), "all 1 connections (source__connections) are busy") ||
		strings.Contains(err.Error(), "index") {
		t.Error(err)
	}
	if _, err := src.Fetch(t.Context(), change.Range{After: nil}, everything); err != nil {
		t.Errorf("once it is free: %v", err)
	}
}
