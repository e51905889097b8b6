package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

// Horizon is this machine's clock: SQLite has none of its own. Nor does it show who holds the one right to write.
func (Dialect) Horizon(context.Context, *sql.Conn, *engine.Looks) (change.Horizon, error) {
	return change.Horizon{Now: time.Now().UTC()}, nil
}
