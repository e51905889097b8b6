package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// sqlServerVersions asks how a session of this database reads the rows before an open transaction's. The database is named: on
// Azure SQL Database its number in sys.databases is not DB_ID()'s.
const sqlServerVersions = `SELECT d.is_read_committed_snapshot_on, CAST(CASE WHEN d.snapshot_isolation_state = 1 THEN 1 ELSE 0 END AS bit)
FROM sys.databases AS d
WHERE d.name = DB_NAME()`

const sqlServerSnapshot = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT"

// readVersions is what makes reads not wait for writers.
const readVersions = "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON when the application is at rest, or ALLOW_SNAPSHOT_ISOLATION ON at any time"

// isolate lets the session read row versions where the database keeps them, so that a page does not wait for a row that an open
// transaction has written: READ COMMITTED does so with READ_COMMITTED_SNAPSHOT, and SNAPSHOT where that is allowed. Each statement is
// a transaction of its own under either.
func (sqlServer) isolate(ctx context.Context, conn *sql.Conn, cfg *Config, l *life) error {
	var committed, snapshots sql.NullBool
	err := conn.QueryRowContext(ctx, sqlServerVersions).Scan(&committed, &snapshots)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && (committed.Bool || !committed.Valid):
		return nil // a server that does not say it is left as it is
	case err != nil:
		return fmt.Errorf("read the database's isolation options: %w", err)
	case snapshots.Bool && !cfg.withLocks:
		if _, err := conn.ExecContext(ctx, sqlServerSnapshot); err != nil {
			return fmt.Errorf("set the session's isolation level: %w", err)
		}
		l.versions = true
		return nil
	case l.readOnly: // nobody writes
		return nil
	}
	l.locking = true
	why := "READ_COMMITTED_SNAPSHOT and ALLOW_SNAPSHOT_ISOLATION are OFF"
	if snapshots.Bool {
		why = "READ_COMMITTED_SNAPSHOT is OFF, and snapshot isolation does not reach everything that is read"
	}
	l.warnings = append(l.warnings, "reads wait for writers ("+why+"): a row that an open transaction has written holds up its page, at most for source__timeout: run "+
		readVersions)
	return nil
}

// aboveLocks is the plan for rows above the safe point where reads wait for locks. Rows that are locked are passed over: what holds the
// safe point back would hold up the look past it, too. They come when they are below it. (Live rows must never be read so: a row
// whose change is undone would be lost.) In a view or a query no hint says so for certain, and nothing is read.
func (p *plan) aboveLocks() (*plan, []condition) {
	if p.sel.query != "" || p.table.view {
		return p, []condition{func(b *builder, _ *selection) { b.add("1 = 0") }}
	}
	above := *p
	above.sel.hint = " WITH (READPAST)"
	return &above, nil
}
