package source_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestCursorBeyondAll: what sorts after every value is never a position, because no row to come would be behind
// it; the rows before it are delivered.
func TestCursorBeyondAll(t *testing.T) {
	t.Parallel()
	sqlite, postgres := testenv.SQLite(t), testenv.Postgres(t)
	for name, c := range map[string]struct{ driver, dsn, url, typ, first, last string }{
		"sqlite text":       {"sqlite", strings.TrimPrefix(sqlite, "sqlite:"), sqlite, "integer", "7", "late text"},
		"postgres NaN":      {"pgx", postgres, postgres, "numeric", "7", "NaN"},
		"postgres Infinity": {"pgx", postgres, postgres, "numeric", "7", "Infinity"},
		"postgres infinity": {"pgx", postgres, postgres, "timestamptz", "now()", "infinity"},
	} {
		t.Run(name, func(t *testing.T) {
			db := testenv.Open(t, c.driver, c.dsn)
			testenv.ExecOn(t, db, []string{
				"DROP TABLE IF EXISTS beyond", "CREATE TABLE beyond (id integer PRIMARY KEY, version " + c.typ + " NOT NULL)",
				"INSERT INTO beyond VALUES (1, " + c.first + "), (2, '" + c.last + "'), (3, " + c.first + ")",
			}...)
			conn, err := engines.Parse(c.url)
			if err != nil {
				t.Fatal(err)
			}
			src, err := source.New(plan.Config{Poller: "p", Table: "beyond", Cursor: []string{"version"}, Connections: 1}, conn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := src.Close(); err != nil {
					t.Error(err)
				}
			})
			page, err := src.Fetch(t.Context(), change.Range{After: nil}, poller.Limit{Rows: 10, Bytes: 1 << 20})
			if err != nil || len(page.Events) != 2 || !page.More {
				t.Fatalf("%d events, more %t: %v", len(page.Events), page.More, err)
			}
			_, err = src.Fetch(t.Context(), change.Range{After: page.Events[1].Cursor}, poller.Limit{Rows: 10, Bytes: 1 << 20})
			if !errors.Is(err, poller.ErrNormalize) || !strings.Contains(err.Error(), c.last) ||
				!strings.Contains(err.Error(), "correct the row") {
				t.Errorf("got %v", err)
			}
		})
	}
}
