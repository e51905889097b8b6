package source

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestGoldenAboveLocks pins what is read above the safe point where reads wait for locks: no row that is locked.
func TestGoldenAboveLocks(t *testing.T) {
	t.Parallel()
	d := sqlserver.Dialect{}
	p := latePlan(t, d, plan.Config{}, ruleOf(t, d, "timestamp"))
	above, also := aboveLocks(p)
	tsqltest.Is(t, pinPage(t, above, "above_locks", also...), "SelectStatement")
	if p.Sel.Hint != "" {
		t.Error("the live rows' plan has the hint, too: a row whose change is undone would be lost")
	}
	view := *p
	view.Table.View = true
	viewed, also := aboveLocks(&view)
	text := viewed.Sel.Page(501, keyset.Span{Also: also}).Text
	tsqltest.Is(t, text, "SelectStatement")
	if !strings.Contains(text, "1 = 0") || strings.Contains(text, "READPAST") {
		t.Errorf("a view is read past locks:\n%s", text)
	}
}

// lockedOut is a server that lets no session with row versions read.
type lockedOut struct {
	engine.Dialect
	sessions *[]bool
}

func (d lockedOut) Prepare(ctx context.Context, conn *sql.Conn, with engine.Settings) (engine.Server, error) {
	l, err := d.Dialect.Prepare(ctx, conn, with)
	l.Locking = with.WithLocks
	*d.sessions = append(*d.sessions, !l.Locking)
	return l, err
}

func (d lockedOut) Read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []engine.Column,
	each func(engine.Row) (bool, error)) error {
	if (*d.sessions)[len(*d.sessions)-1] {
		return mssql.Error{Number: 3952}
	}
	return d.Dialect.Read(ctx, conn, text, args, cols, each)
}

func (d lockedOut) Classify(err error) engine.Fault {
	if kind := (sqlserver.Dialect{}).Classify(err); kind != engine.FaultOther {
		return kind
	}
	return d.Dialect.Classify(err)
}

// TestVersionsRefused: where snapshot isolation is allowed in the connection's database, but not in all that is read,
// the source goes on with locks, from the first fetch on.
func TestVersionsRefused(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	writer(t, "sqlite", url, "CREATE TABLE orders (id INTEGER PRIMARY KEY, v int NOT NULL)",
		"INSERT INTO orders VALUES (1, 1)")
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	var sessions []bool
	conn.Dialect = lockedOut{conn.Dialect, &sessions}
	src := sourceOn(t, conn, plan.Config{Table: "orders", Cursor: []string{"v"}})
	for range 2 {
		page, err := src.Fetch(t.Context(), change.Range{}, everything)
		if err != nil || len(page.Events) != 1 {
			t.Fatalf("%d events, %v", len(page.Events), err)
		}
	}
	if !slices.Equal(sessions, []bool{true, false}) {
		t.Errorf("sessions with row versions: %v", sessions)
	}
	if p, err := src.current(t.Context()); err != nil || !p.Table.Locking {
		t.Errorf("the plan does not know of the locks: %v", err)
	}
}
