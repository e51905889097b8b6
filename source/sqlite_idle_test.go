package source

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// countingConnector counts the statements that a driver is given.
type countingConnector struct {
	driver.Connector
	n *int
}

func (c countingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return countingConn{conn, c.n}, err
}

type countingConn struct {
	driver.Conn
	n *int
}

func (c countingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	*c.n++
	q, ok := c.Conn.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the driver takes no query")
	}
	return q.QueryContext(ctx, text, args)
}

// TestSQLiteIdle: an idle fetch is one statement, and a look at the version of the schema in the file's header (the
// suite counts round trips of the engines with a network).
func TestSQLiteIdle(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	openSource(t, url, "sqlite", plan.Config{Table: "orders", Cursor: []string{"v"}},
		"CREATE TABLE orders (id INTEGER PRIMARY KEY, v int)", "INSERT INTO orders VALUES (1, 1)")
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	conn.Connectors.Reading = countingConnector{conn.Connectors.Reading, &n}
	src, err := New(plan.Config{Poller: "p", Table: "orders", Cursor: []string{"v"}}, conn)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close() //nolint:errcheck // the test is over
	page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
	if err != nil || len(page.Events) != 1 || page.More {
		t.Fatalf("%+v, %v", page, err)
	}
	n = 0
	for range 3 {
		if _, err := src.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if page, err := src.Fetch(t.Context(), change.Range{After: page.Events[0].Cursor},
			poller.Limit{Rows: 1, Bytes: 1}); err != nil || len(page.Events) > 0 {
			t.Fatalf("%+v, %v", page, err)
		}
	}
	if n != 6 {
		t.Errorf("three idle fetches are %d statements", n)
	}
}
