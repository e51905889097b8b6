package engines

import (
	"database/sql"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the writer beside the connection under test

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestSQLiteConnection: a connection reads what another wrote, writes nothing, and never makes a file.
func TestSQLiteConnection(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain.db", "with space.db", "a%20b.db", "what?.db", "hash#.db", "é&=.db"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			writer, err := sql.Open("sqlite", "file://"+(&url.URL{Path: path}).EscapedPath())
			if err != nil {
				t.Fatal(err)
			}
			defer writer.Close() //nolint:errcheck // the test's own
			testenv.ExecOn(t, writer, "PRAGMA journal_mode = WAL", "CREATE TABLE t (n INTEGER)",
				"INSERT INTO t VALUES (7)")
			if _, err := os.Stat(path); err != nil {
				t.Fatal(err)
			}
			c, err := Parse("sqlite:" + path)
			if err != nil {
				t.Fatal(err)
			}
			db := c.DB(1)
			defer db.Close() //nolint:errcheck // the test's own
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n); err != nil || n != 7 {
				t.Errorf("read %d, %v", n, err)
			}
			if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (8)"); err == nil {
				t.Error("the connection can write")
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "absent.db")
		c, err := Parse("sqlite:" + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.DB(1).PingContext(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file was made: %v", err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		c, err := Parse("sqlite:" + t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.DB(1).PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), "is a directory") {
			t.Errorf("got %v", err)
		}
	})
}

// TestRefusedConnection: where nothing listens, every engine's error is the network's, so that the framework can tell
// that it is worth another try, and shows no password.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once: a port that nobody listens on
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"sqlserver://sa:Pl4nted%3BS3cr3t@" + addr + "?database=shop&dial+timeout=2",
		"Server=" + host + "," + port + ";Database=shop;User ID=sa;Password='" + secret + "'",
		"postgres://sa:Pl4nted%3BS3cr3t@" + addr + "/shop?sslmode=disable",
		"mysql://sa:Pl4nted%3BS3cr3t@" + addr + "/shop",
		"sa:" + secret + "@tcp(" + addr + ")/shop",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		db := c.DB(1)
		err = db.PingContext(t.Context())
		var op *net.OpError
		if !errors.As(err, &op) {
			t.Errorf("%s: %v is not the network's", c, err)
		}
		noSecret(t, err)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
