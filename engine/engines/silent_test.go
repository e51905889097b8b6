package engines

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// swallowing is a way to a server on which everything is lost, without a word to either side, once the flag is set.
func swallowing(t *testing.T, server string) (text string, silent *atomic.Bool) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	target := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // the test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	silent = new(atomic.Bool)
	pump := func(from, to net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 && !silent.Load() {
				_, _ = to.Write(buf[:n])
			}
			if err != nil && (!errors.Is(err, io.EOF) || !silent.Load()) {
				_ = to.Close()
			}
			if err != nil {
				return
			}
		}
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target) //nolint:noctx // the test's own
			if err != nil {
				_ = client.Close()
				continue
			}
			t.Cleanup(func() { _, _ = client.Close(), server.Close() })
			go pump(client, server)
			go pump(server, client)
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), silent
}

// TestSilentEnd: a COMMIT or ROLLBACK whose answer never comes is not waited for beyond the transaction's context.
func TestSilentEnd(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]string{"postgres": testenv.Postgres(t), "mysql": testenv.MySQL(t)} {
		for _, end := range []string{"commit", "rollback"} {
			t.Run(name+" "+end, func(t *testing.T) {
				text, silent := swallowing(t, server)
				c, err := Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				db := c.WriteDB(1)
				t.Cleanup(func() { _ = db.Close() })
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				silent.Store(true)
				ended := make(chan error, 1)
				go func() {
					if end == "commit" {
						ended <- tx.Commit()
					} else {
						ended <- tx.Rollback()
					}
				}()
				select {
				case err := <-ended:
					if err == nil {
						t.Error("it counts as done")
					}
				case <-time.After(time.Minute):
					t.Error("it is waited for without an end")
				}
			})
		}
	}
}

// TestOrphanedTransaction: the server ends a transaction, and gives its locks back, whose client was cut off.
func TestOrphanedTransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ server, ask, want string }{
		"postgres": {testenv.Postgres(t), "SHOW idle_in_transaction_session_timeout", "30s"},
		"mysql":    {testenv.MySQL(t), "SELECT @@wait_timeout", "180"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := Parse(c.server)
			if err != nil {
				t.Fatal(err)
			}
			db := conn.WriteDB(1)
			t.Cleanup(func() { _ = db.Close() })
			if name == "mysql" && testenv.IsMariaDB(t, db) {
				c.ask, c.want = "SELECT CAST(@@idle_transaction_timeout AS char)", "30"
			}
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() //nolint:errcheck // nothing was written
			var got, level string
			if err := tx.QueryRowContext(t.Context(), c.ask).Scan(&got); err != nil || got != c.want {
				t.Errorf("%q, %v", got, err)
			}
			if name == "postgres" {
				if err := tx.QueryRowContext(t.Context(), "SHOW transaction_isolation").Scan(&level); err != nil ||
					!strings.EqualFold(level, "read committed") {
					t.Errorf("%q, %v", level, err)
				}
			}
		})
	}
}

// TestSilentHost: a host that takes connections and says nothing is given up in time. With PostgreSQL the next one of
// the string is asked.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	answering, err := url.Parse(testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	dead, silent := swallowing(t, answering.String())
	silent.Store(true)
	u, err := url.Parse(dead)
	if err != nil {
		t.Fatal(err)
	}
	u.Host += "," + answering.Host
	mysql, silent := swallowing(t, testenv.MySQL(t))
	silent.Store(true)
	for name, c := range map[string]struct {
		text   string
		answer bool
	}{"postgres": {u.String(), true}, "postgres alone": {dead + "&connect_timeout=1", false},
		"mysql": {mysql + "?timeout=1s", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			db := conn.DB(1)
			t.Cleanup(func() { _ = db.Close() })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = db.PingContext(ctx)
			if ctx.Err() != nil || (err == nil) != c.answer {
				t.Errorf("%v, %v", err, ctx.Err())
			}
			if err != nil && engine.Classify(conn.Dialect, err) != engine.FaultConnect {
				t.Errorf("it is not told as one that cannot be reached: %v", err)
			}
		})
	}
}
