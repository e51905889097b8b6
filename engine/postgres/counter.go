package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
)

// sequenceSQL reads the sequence that a serial or identity column owns, if it goes up and does not begin again. Its
// value is NULL where it was not used yet, or this role may not see it.
const sequenceSQL = `SELECT q.schemaname || '.' || q.sequencename, q.last_value::text
FROM pg_catalog.pg_sequences q
WHERE pg_catalog.format('%I.%I', q.schemaname, q.sequencename) = pg_catalog.pg_get_serial_sequence($1, $2)
AND q.increment_by > 0 AND NOT q.cycle`

const nextTransactionSQL = "SELECT (pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::numeric - 1)::text"

// Counter reads the column's own sequence, which values that are written explicitly do not raise; for a transaction's
// id, the last that was given out.
func (Dialect) Counter(ctx context.Context, conn *sql.Conn, t *engine.Table, col *engine.Column) (engine.Counter,
	error) {
	var n engine.Counter
	if col.Value.Transaction {
		n.Name = "the transactions of the server"
		if err := conn.QueryRowContext(ctx, nextTransactionSQL).Scan(&n.Highest); err != nil {
			return engine.Counter{}, fmt.Errorf("read the last transaction's id: %w", err)
		}
		return n, nil
	}
	var last sql.NullString
	err := conn.QueryRowContext(ctx, sequenceSQL, t.From, col.Name).Scan(&n.Name, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return engine.Counter{}, fmt.Errorf("read the column's sequence: %w", err)
	}
	return engine.Counter{Name: "the sequence " + n.Name, Highest: last.String, Loose: true}, nil
}
