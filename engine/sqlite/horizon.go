package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowrelay/rowrelay/engine"
)

// Horizon is this machine's clock: SQLite has none of its own. Nor does it show who holds the one right to write.
func (Dialect) Horizon(context.Context, *sql.Conn, *engine.Looks) (engine.Horizon, error) {
	return engine.Horizon{Now: time.Now().UTC()}, nil
}
