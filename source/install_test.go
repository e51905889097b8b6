package source

import (
	"database/sql"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/tracking"
)

// install puts triggers on a table; with changed, those that tell of updates of these columns.
func install(t *testing.T, url string, db *sql.DB, table string, changed ...string) engine.Connection {
	t.Helper()
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tracking.Install(t.Context(), conn, table, "", table, tracking.Writes{Changed: changed})
	if err == nil {
		err = w.Apply(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
