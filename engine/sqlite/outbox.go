package sqlite

import (
	"context"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Outbox is how SQLite writes what depends on the columns of an outbox.
type Outbox struct{ statement.Outbox }

// Limit has SQLite read its own forms of a time, of which there are many: without seconds, with a zone, or a julian
// day. What is none of them stays text. By way of the julian day, 24:00 and February 31 become days that there are.
func (Outbox) Limit(expr string) string {
	return "COALESCE(strftime(" + instantFormat + ", julianday(" + expr + ")), CAST(" + expr + " AS TEXT))"
}

// Ddl for SQLite. It has no hash function: the bucket is arithmetic over the code points of the id's last four
// characters, which are what differs between numbers, names with numbers and UUIDs. The table gives its own times:
// text in UTC, to a millisecond. The index of pending events ends with the aggregate, so that a look past the backlog
// of one reads no rows.
func (d Outbox) Ddl(table statement.Name, claims, states, blocked string) []string {
	on := Statement{}.Quote(table.Base())
	schema := table.Schema()
	if schema != "" {
		schema = Statement{}.Quote(schema) + "."
	}
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id INTEGER GENERATED ALWAYS AS (seq) VIRTUAL,
    aggregate_type TEXT NOT NULL CHECK (` + d.plain("aggregate_type") + `),
    aggregate_id TEXT NOT NULL CHECK (` + d.plain("aggregate_id") + `),
    event_type TEXT NOT NULL CHECK (length(event_type) <= 255),
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (` + Statement{}.Now() + `),
    published INTEGER NOT NULL GENERATED ALWAYS AS (state = 'PUBLISHED') VIRTUAL,
    published_at TEXT NULL,
    retry_count INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT NOT NULL UNIQUE CHECK (length(idempotency_key) <= 255),
    state TEXT NOT NULL DEFAULT 'PENDING' CHECK (state IN (` + states + `)),
    next_attempt_at TEXT NULL,
    last_error TEXT NULL,
    bucket INTEGER NOT NULL GENERATED ALWAYS AS ((coalesce(unicode(substr(aggregate_id, -1, 1)), 0) ` +
			`+ 10 * coalesce(unicode(substr(aggregate_id, -2, 1)), 0)
        + 100 * coalesce(unicode(substr(aggregate_id, -3, 1)), 0) ` +
			`+ 1000 * coalesce(unicode(substr(aggregate_id, -4, 1)), 0)) & 1023) STORED,
    traceparent TEXT NULL,
    tracestate TEXT NULL,
    available_at TEXT NULL CHECK (available_at IS NULL OR julianday(available_at) IS NOT NULL),
    expires_at TEXT NULL CHECK (expires_at IS NULL OR julianday(expires_at) IS NOT NULL)
)`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("pending") + ` ON ` + on +
			` (bucket, seq, aggregate_type, aggregate_id) WHERE state = 'PENDING'`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("order") + ` ON ` + on +
			` (seq, bucket) WHERE state = 'PENDING'`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("due") + ` ON ` + on +
			` (next_attempt_at) WHERE state = 'FAILED'`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("blocked") + ` ON ` + on +
			` (aggregate_type, aggregate_id, seq) WHERE state IN (` + blocked + `)`,
		claims,
	}
}

// plain is the condition that a name is text, without NUL and not too long: length() ends at a NUL, and a blob equals
// no text. That it is valid UTF-8 no condition can say.
func (Outbox) plain(column string) string {
	return "typeof(" + column + ") = 'text' AND instr(" + column + ", char(0)) = 0 AND length(" + column + ") <= 255"
}

// Resolve returns the name as it was declared, without a schema, or "" where there is none.
func Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	master := "sqlite_master"
	if n.Schema() != "" {
		master = Statement{}.Quote(n.Schema()) + "." + master
	}
	return n.Found(q.QueryRowContext(ctx, "SELECT NULL, name FROM "+master+
		" WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE", n.Base()))
}
