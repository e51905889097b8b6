package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/rowrelay/rowrelay/engine"
)

// sessionSQL bounds waits for locks on the server's side: ending a context alone sends an attention, which the
// driver waits for. It is a batch, not a parametrised statement, whose SET would end with it.
func sessionSQL(with engine.Settings) string {
	// The server gives up a little before the client does: then the connection stays good.
	wait := max(with.Timeout.Milliseconds()-with.Timeout.Milliseconds()/20, 1)
	return "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT " + strconv.FormatInt(wait, 10)
}

// Azure SQL Database, of the values of SERVERPROPERTY('EngineEdition').
const editionAzureSQL = 5

// Prepare implements engine.Dialect.
func (Dialect) Prepare(ctx context.Context, conn *sql.Conn, with engine.Settings) (engine.Server, error) {
	var l engine.Server
	if _, err := conn.ExecContext(ctx, sessionSQL(with)); err != nil {
		return l, fmt.Errorf("set the session's settings: %w", err)
	}
	var edition sql.NullInt64
	var version, updateability, created sql.NullString
	if err := conn.QueryRowContext(ctx, createdSQL).Scan(&edition, &version, &updateability, &created); err != nil {
		return l, fmt.Errorf("read the database's creation date: %w", err)
	}
	l.Version = "Microsoft SQL Server " + version.String
	parts := []string{forkSQL, groupSQL, "", ""}
	if edition.Int64 == editionAzureSQL {
		l.Version = "Azure SQL Database " + version.String
		parts = []string{"", "", brokerSQL, linksSQL}
	}
	if updateability.String == "READ_ONLY" {
		l.ReadOnly = true
		l.Warnings = append(l.Warnings,
			"the database is read-only, a readable secondary for instance: rows arrive with its delay")
	}
	if created.Valid {
		l.Incarnation = "sqlserver/" + created.String
		for _, text := range parts {
			shown, err := shown(ctx, conn, text)
			if err != nil {
				return l, fmt.Errorf("read what tells one incarnation of the database from the next: %w", err)
			}
			l.Incarnation += "/" + shown
		}
	}
	if err := (Dialect{}).isolate(ctx, conn, with, &l); err != nil {
		return l, err
	}
	return l, nil
}

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

// Refresh does nothing: a failover ends every connection.
func (Dialect) Refresh(context.Context, *sql.Conn, *engine.Server) error { return nil }

// Explain returns nothing: SHOWPLAN does not work on parametrised statements, and needs a permission of its own.
func (Dialect) Explain(context.Context, *sql.Conn, string, []any) (string, error) { return "", nil }
