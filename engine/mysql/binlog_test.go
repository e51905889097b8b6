package mysql

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

// TestBinaryLogOfStatements: such a server refused the last statement of an installation, when the triggers were made.
func TestBinaryLogOfStatements(t *testing.T) {
	for _, c := range []struct {
		on, format string
		refused    bool
	}{{"ON", "STATEMENT", true}, {"OFF", "STATEMENT", false}, {"ON", "MIXED", false}, {"ON", "ROW", false}} {
		db := sql.OpenDB(tsqltest.Told{binlogSQL: [][]driver.Value{{"log_bin", c.on}, {"binlog_format", c.format}}})
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := loggable(t.Context(), conn); errors.Is(err, change.ErrConfig) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
		_ = conn.Close()
		_ = db.Close()
	}
}
