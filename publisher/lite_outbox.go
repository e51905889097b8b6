package publisher

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"strconv"
	"time"
	"unicode/utf8"
)

// liteOutbox is how SQLite writes what depends on the columns of an outbox.
type liteOutbox struct{}

func (liteOutbox) seq() string { return "seq" }

func (liteOutbox) same(typ1, id1, typ2, id2 string) string {
	return typ1 + " = " + typ2 + " AND " + id1 + " = " + id2
}

// shard is the aggregate itself: SQLite has no hash, and no limit to the length of a key.
func (liteOutbox) shard(typ, id string) string {
	return "('a:' || length(" + typ + ") || ':' || " + typ + " || ':' || " + id + ")"
}

func (liteOutbox) shardOf(typ, id string) string {
	return claims.AggregatePrefix + strconv.Itoa(utf8.RuneCountInString(typ)) + ":" + typ + ":" + id
}

func (liteOutbox) update(table, alias, set, from, where string) string {
	return updateFrom(table, alias, set, from, where)
}

func (d liteOutbox) bySeq(s *statement.Statement, table statement.Name, set func() string, seqs []int64) {
	bySeqList(s, d.seq(), table, set, seqs)
}

func (liteOutbox) seek(_, _ string) string { return "" }

func (liteOutbox) force(string) string { return "" }

func (liteOutbox) byState() bool { return false }

func (liteOutbox) orderly(alias, bucket, seq string) string {
	return "(" + alias + ".bucket, " + alias + ".seq) > (" + bucket + ", " + seq + ")"
}

func (liteOutbox) ago(s *statement.Statement, d time.Duration) string {
	return s.Syntax.Earlier(s.Arg(WholeSeconds(d) * 1000))
}

// ddl for SQLite. It has no hash function: the bucket is arithmetic over the code points of the id's last four characters, which
// are what differs between numbers, names with numbers and UUIDs. The table gives its own times: text in UTC, to a millisecond.
func (d liteOutbox) ddl(table statement.Name, claims, states, blocked string) []string {
	on := liteStatement{}.Quote(table.Base())
	schema := table.Schema()
	if schema != "" {
		schema = liteStatement{}.Quote(schema) + "."
	}
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id INTEGER GENERATED ALWAYS AS (seq) VIRTUAL,
    aggregate_type TEXT NOT NULL CHECK (` + d.plain("aggregate_type") + `),
    aggregate_id TEXT NOT NULL CHECK (` + d.plain("aggregate_id") + `),
    event_type TEXT NOT NULL CHECK (length(event_type) <= 255),
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (` + liteStatement{}.Now() + `),
    published INTEGER NOT NULL GENERATED ALWAYS AS (state = 'PUBLISHED') VIRTUAL,
    published_at TEXT NULL,
    retry_count INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT NOT NULL UNIQUE CHECK (length(idempotency_key) <= 255),
    state TEXT NOT NULL DEFAULT 'PENDING' CHECK (state IN (` + states + `)),
    next_attempt_at TEXT NULL,
    last_error TEXT NULL,
    bucket INTEGER NOT NULL GENERATED ALWAYS AS ((coalesce(unicode(substr(aggregate_id, -1, 1)), 0) + 10 * coalesce(unicode(substr(aggregate_id, -2, 1)), 0)
        + 100 * coalesce(unicode(substr(aggregate_id, -3, 1)), 0) + 1000 * coalesce(unicode(substr(aggregate_id, -4, 1)), 0)) & 1023) STORED,
    traceparent TEXT NULL,
    tracestate TEXT NULL
)`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("pending") + ` ON ` + on + ` (bucket, seq) WHERE state = 'PENDING'`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("order") + ` ON ` + on + ` (seq, bucket) WHERE state = 'PENDING'`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("publishing") + ` ON ` + on + ` (seq) WHERE state = 'PUBLISHING'`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("due") + ` ON ` + on + ` (next_attempt_at) WHERE state = 'FAILED'`,
		`CREATE INDEX IF NOT EXISTS ` + schema + table.IndexName("blocked") + ` ON ` + on + ` (aggregate_type, aggregate_id, seq) WHERE state IN (` + blocked + `)`,
		claims,
	}
}

// plain is the condition that a name is text, without NUL and not too long: length() ends at a NUL, and a blob equals no text. That it
// is valid UTF-8 no condition can say.
func (liteOutbox) plain(column string) string {
	return "typeof(" + column + ") = 'text' AND instr(" + column + ", char(0)) = 0 AND length(" + column + ") <= 255"
}
