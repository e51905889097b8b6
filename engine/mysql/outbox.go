package mysql

import (
	"context"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Outbox is how MySQL and MariaDB write what depends on the columns of an outbox.
type Outbox struct{ statement.Outbox }

// Seq is id, the AUTO_INCREMENT column.
func (Outbox) Seq() string { return "id" }

// Same compares type and id byte by byte, trailing blanks included.
func (Outbox) Same(typ1, id1, typ2, id2 string) string {
	return typ1 + " = " + typ2 + " " + exact + " AND " + id1 + " = " + id2 + " " + exact
}

// Update reads the list first, and seeks its rows: any other plan would lock what it looks at, and wait for rows that
// others have locked.
func (Outbox) Update(table, alias, set, from, where string) string {
	return "UPDATE " + from + " STRAIGHT_JOIN " + table + " AS " + alias + " ON " + where + " SET " + set
}

// Seek goes by the column that holds the aggregate's id while an event is in the way or waits, and is NULL otherwise:
// MySQL has no partial indexes. It sorts what an index has in order already unless the order names all its columns.
func (Outbox) Seek(b, id string) (condition, order string) {
	return b + ".blocked = " + id + " " + exact + " AND ", b + ".blocked, "
}

// Force keeps MariaDB, whose statistics know nothing of a state that many events have just got, from reading the
// table.
func (Outbox) Force(index string) string {
	if index == "" {
		return " FORCE INDEX (PRIMARY)"
	}
	return " FORCE INDEX (rowrelay_" + index + ")"
}

// ByState is true: without partial indexes, the index of pending events leads with the state.
func (Outbox) ByState() bool { return true }

// Ddl for MySQL and MariaDB. There are no partial indexes: `pending` leads with the state, so that it serves every
// state, and the columns `blocked` and next_attempt_at are NULL in an event that never fails, so that their indexes
// are written once for it, at the end of all NULLs. id counts, and is what `seq` is elsewhere: a second counting
// column, or one computed from it, is not possible. `pending` ends with the aggregate, so that a look past the backlog of
// one reads no rows. published is computed when it is read. Statements name the
// indexes, which is why their names do not depend on the table's.
//
// rowrelay_locks is for writers: MySQL has no lock of a name that ends with the transaction, so an aggregate's is one
// of 1,024 rows (package outbox, docs/outbox-writing.md).
//
// (On a Galera cluster with several writing nodes ids do not grow in the order of commits: write the events of one
// aggregate on one node.)
func (Outbox) Ddl(table statement.Name, claims, states, blocked string) []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    aggregate_type varchar(255) NOT NULL,
    aggregate_id varchar(255) NOT NULL,
    event_type varchar(255) NOT NULL,
    payload longtext NOT NULL,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    published boolean GENERATED ALWAYS AS (state = 'PUBLISHED') VIRTUAL,
    published_at timestamp(6) NULL DEFAULT NULL,
    retry_count int NOT NULL DEFAULT 0,
    idempotency_key varchar(255) NOT NULL,
    state varchar(16) NOT NULL DEFAULT 'PENDING' CHECK (state IN (` + states + `)),
    next_attempt_at timestamp(6) NULL DEFAULT NULL,
    last_error varchar(1000) NULL,
    bucket smallint GENERATED ALWAYS AS (CRC32(aggregate_id) & 1023) STORED,
    blocked varchar(255) GENERATED ALWAYS AS (CASE WHEN state IN (` + blocked + `) THEN aggregate_id END) VIRTUAL,
    traceparent varchar(255) NULL,
    tracestate varchar(1000) NULL,
    available_at timestamp(6) NULL DEFAULT NULL,
    expires_at timestamp(6) NULL DEFAULT NULL,
    UNIQUE KEY rowrelay_key (idempotency_key),
    KEY rowrelay_pending (state, bucket, id, aggregate_type, aggregate_id),
    KEY rowrelay_order (state, id, bucket),
    KEY rowrelay_due (next_attempt_at),
    KEY rowrelay_blocked (blocked, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 ` + exact,
		claims,
		`CREATE TABLE IF NOT EXISTS rowrelay_locks (slot smallint NOT NULL PRIMARY KEY) ENGINE=InnoDB`,
		`INSERT IGNORE INTO rowrelay_locks WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 31) ` +
			`SELECT 32 * a.i + b.i FROM n AS a CROSS JOIN n AS b`,
	}
}

// Resolve returns schema.table from information_schema, or "" where there is none. A name without a schema is looked
// for in the current database.
func Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	return n.Found(q.QueryRowContext(ctx, `SELECT table_schema, table_name FROM information_schema.tables
WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?`, n.Schema(), n.Base()))
}
