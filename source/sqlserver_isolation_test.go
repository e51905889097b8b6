package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
)

// setting is told of its session's settings.
type setting struct {
	told
	set *[]string
}

func (s setting) Connect(context.Context) (driver.Conn, error) { return s, nil }

func (s setting) ExecContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Result, error) {
	*s.set = append(*s.set, text)
	return driver.RowsAffected(0), nil
}

// TestSQLServerIsolation: a session reads row versions wherever the database keeps them, and says so where it does not.
func TestSQLServerIsolation(t *testing.T) {
	for name, c := range map[string]struct {
		committed, snapshots any
		unknown              bool
		withLocks, readOnly  bool
		versions, locking    bool
		says                 string
	}{
		"READ_COMMITTED_SNAPSHOT":       {committed: true, snapshots: false},
		"both":                          {committed: true, snapshots: true},
		"ALLOW_SNAPSHOT_ISOLATION":      {committed: false, snapshots: true, versions: true},
		"neither":                       {committed: false, snapshots: false, locking: true, says: "ALLOW_SNAPSHOT_ISOLATION are OFF"},
		"refused":                       {committed: false, snapshots: true, withLocks: true, locking: true, says: "does not reach everything"},
		"neither, and nobody writes":    {committed: false, snapshots: false, readOnly: true},
		"a server that says nothing":    {committed: nil, snapshots: nil},
		"a server that hides databases": {unknown: true},
	} {
		rows := [][]driver.Value{{c.committed, c.snapshots}}
		if c.unknown {
			rows = nil
		}
		var set []string
		db := sql.OpenDB(setting{told{sqlServerVersions: rows}, &set})
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l := life{readOnly: c.readOnly}
		if err := (sqlServer{}).isolate(t.Context(), conn, &Config{withLocks: c.withLocks}, &l); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if l.versions != c.versions || l.locking != c.locking || slices.Contains(set, sqlServerSnapshot) != c.versions {
			t.Errorf("%s: %+v, set %v", name, l, set)
		}
		warned := strings.Join(l.warnings, "|")
		if !strings.Contains(warned, c.says) || c.says == "" && warned != "" || c.says != "" && !strings.Contains(warned, "SET READ_COMMITTED_SNAPSHOT ON") {
			t.Errorf("%s: warned %q", name, warned)
		}
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSQLServerLocked: a wait for a lock is told as one, with what ends it, and is no reason for an index.
func TestSQLServerLocked(t *testing.T) {
	c := &Cursor{cfg: Config{Table: "dbo.orders", Timeout: 30 * time.Second}, dialect: sqlServer{}}
	err := fmt.Errorf("read a page: %w", mssql.Error{Number: 1222, Message: "Lock request time out period exceeded."})
	told := c.explain(t.Context(), c.classify(t.Context(), t.Context(), err), err)
	if says := told.Error(); errors.Is(told, poller.ErrConfig) || strings.Contains(says, "index") ||
		!strings.Contains(says, "locked for source__timeout (30s)") || !strings.Contains(says, "READ_COMMITTED_SNAPSHOT ON") {
		t.Error(says)
	}
}

// TestGoldenAboveLocks pins what is read above the safe point where reads wait for locks: no row that is locked.
func TestGoldenAboveLocks(t *testing.T) {
	d := sqlServer{}
	p := latePlan(t, d, Config{}, ruleOf(t, d, "timestamp"))
	above, also := p.aboveLocks()
	isTSQL(t, pinPage(t, above, "above_locks", also...), "SelectStatement")
	if p.sel.hint != "" {
		t.Error("the live rows' plan has the hint, too: a row whose change is undone would be lost")
	}
	view := *p
	view.table.view = true
	viewed, also := view.aboveLocks()
	text := viewed.sel.page(501, span{also: also}).text
	isTSQL(t, text, "SelectStatement")
	if !strings.Contains(text, "1 = 0") || strings.Contains(text, "READPAST") {
		t.Errorf("a view is read past locks:\n%s", text)
	}
	golden.Pin(t, "sqlserver/versions.sql", sqlServerVersions+"\n")
	isTSQL(t, sqlServerVersions, "SelectStatement")
	isTSQL(t, sqlServerSnapshot, "SetTransactionIsolationLevelStatement")
}

// lockedOut is a server that lets no session with row versions read.
type lockedOut struct {
	dialect
	sessions *[]bool
}

func (d lockedOut) ready(ctx context.Context, conn *sql.Conn, cfg *Config) (life, error) {
	l, err := d.dialect.ready(ctx, conn, cfg)
	l.versions, l.locking = !cfg.withLocks, cfg.withLocks
	*d.sessions = append(*d.sessions, l.versions)
	return l, err
}

func (d lockedOut) read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []column, each func(row) (bool, error)) error {
	if (*d.sessions)[len(*d.sessions)-1] {
		return mssql.Error{Number: 3952}
	}
	return d.dialect.read(ctx, conn, text, args, cols, each)
}

func (d lockedOut) classify(err error) fault {
	if kind := (sqlServer{}).classify(err); kind != faultOther {
		return kind
	}
	return d.dialect.classify(err)
}

// TestVersionsRefused: where snapshot isolation is allowed in the connection's database, but not in all that is read, the source
// goes on with locks, from the first fetch on.
func TestVersionsRefused(t *testing.T) {
	src := openSource(t, testenv.SQLite(t), "sqlite", Config{Table: "orders", Cursor: []string{"v"}},
		"CREATE TABLE orders (id INTEGER PRIMARY KEY, v int NOT NULL)", "INSERT INTO orders VALUES (1, 1)")
	var sessions []bool
	src.dialect = lockedOut{src.dialect, &sessions}
	for range 2 {
		page, err := src.Fetch(t.Context(), change.Range{}, everything)
		if err != nil || len(page.Events) != 1 {
			t.Fatalf("%d events, %v", len(page.Events), err)
		}
	}
	if !slices.Equal(sessions, []bool{true, false}) {
		t.Errorf("sessions with row versions: %v", sessions)
	}
	if p, _, err := src.current(t.Context()); err != nil || !p.table.locking {
		t.Errorf("the plan does not know of the locks: %v", err)
	}
}
