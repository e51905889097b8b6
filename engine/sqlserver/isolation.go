package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
)

// versionsSQL asks how a session of this database reads the rows before an open transaction's. The database is named:
// on Azure SQL Database its number in sys.databases is not DB_ID()'s.
const versionsSQL = `SELECT d.is_read_committed_snapshot_on, CAST(CASE WHEN d.snapshot_isolation_state = 1 THEN 1 ELSE 0 END AS bit)
FROM sys.databases AS d
WHERE d.name = DB_NAME()`

const snapshotSQL = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT"

// isolate lets the session read row versions where the database keeps them, so that a page does not wait for a row that
// an open transaction has written: READ COMMITTED does so with READ_COMMITTED_SNAPSHOT, and SNAPSHOT where that is
// allowed. Each statement is a transaction of its own under either.
func (Dialect) isolate(ctx context.Context, conn *sql.Conn, with engine.Settings, l *engine.Server) error {
	var committed, snapshots sql.NullBool
	err := conn.QueryRowContext(ctx, versionsSQL).Scan(&committed, &snapshots)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && (committed.Bool || !committed.Valid):
		return nil // a server that does not say it is left as it is
	case err != nil:
		return fmt.Errorf("read the database's isolation options: %w", err)
	case snapshots.Bool && !with.WithLocks:
		if _, err := conn.ExecContext(ctx, snapshotSQL); err != nil {
			return fmt.Errorf("set the session's isolation level: %w", err)
		}
		l.Versions = true
		return nil
	case l.ReadOnly: // nobody writes
		return nil
	}
	l.Locking = true
	why := "READ_COMMITTED_SNAPSHOT and ALLOW_SNAPSHOT_ISOLATION are OFF"
	if snapshots.Bool {
		why = "READ_COMMITTED_SNAPSHOT is OFF, and snapshot isolation does not reach everything that is read"
	}
	l.Warnings = append(l.Warnings,
		"reads wait for writers ("+why+
			"): a row that an open transaction has written holds up its page, at most for source__timeout: run "+
			readVersions)
	return nil
}
