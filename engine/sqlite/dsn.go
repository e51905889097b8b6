package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"modernc.org/sqlite"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/sqltext"
)

// Parse reads sqlite:path, sqlite://path and sqlite:///absolute/path: all that follows the scheme is the path,
// percent signs and question marks too.
func Parse(text string) (engine.Connection, error) {
	path := text[len("sqlite:"):]
	path = strings.TrimPrefix(path, "//")
	switch {
	case path == "":
		return engine.Connection{}, errors.New("sqlite: needs the path of a file, as in sqlite:shop.db or sqlite:///var/lib/shop.db")
	case strings.HasPrefix(path, ":memory:"), strings.HasPrefix(path, "file:"):
		return engine.Connection{}, errors.New("sqlite: takes the path of a file, no :memory: and no file: URI, as in sqlite:shop.db")
	case strings.ContainsRune(path, 0):
		return engine.Connection{}, errors.New("sqlite: the path holds a NUL byte")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return engine.Connection{}, fmt.Errorf("sqlite: find the working directory: %w", err)
	}
	return engine.Connection{
		Engine:   sqltext.SQLite.Engine,
		Dialect:  Dialect{},
		Identity: abs,
		Link:     engine.LinkLocal,
		Connectors: engine.Connectors{Plain: connector{path: abs}, Reading: connector{path: abs},
			Writing: connector{path: abs, write: true}},
	}, nil
}

// connector opens one file. It never creates the file (mode=rw), waits five seconds for a writer's lock, and writes
// nothing (query_only) unless it is for writing. mode=ro is not used: it cannot read a database in WAL mode that no one
// else has open.
type connector struct {
	path  string
	write bool // without query_only, and transactions begin immediate
}

// Connect opens the file. A file that is not there is a configuration fault, not an empty database.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Asked before it is opened: where another takes its place in between, the first statement finds out.
	info, err := os.Stat(c.path)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite file (a relative path counts from the working directory): %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("open the SQLite file %s: %w", c.path, syscall.EISDIR)
	}
	name := "file://" + (&url.URL{Path: c.path}).EscapedPath() +
		"?mode=rw&_pragma=busy_timeout(5000)"
	if c.write {
		name += "&_txlock=immediate"
	} else {
		name += "&_pragma=query_only(1)"
	}
	conn, err := (&sqlite.Driver{}).Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite file %s: %w", c.path, err)
	}
	return fileConn{DriverConn: conn.(engine.DriverConn), path: c.path, file: info}, nil
}

// Driver returns the driver.
func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }
