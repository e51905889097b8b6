package source

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// clock is not used: SQLite's times are whatever was written, and have no age that it could tell.
func (sqliteDialect) clock(seconds int) string {
	return fmt.Sprintf("datetime('now', '%d seconds')", seconds)
}

// horizon is this machine's clock: SQLite has none of its own. Nor does it show who holds the one right to write.
func (sqliteDialect) horizon(context.Context, *sql.Conn) (change.Horizon, error) {
	return change.Horizon{Now: time.Now().UTC()}, nil
}
