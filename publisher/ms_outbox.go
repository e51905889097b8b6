package publisher

import (
	"encoding/binary"
	"github.com/rowrelay/rowrelay/engine/statement"
	"time"
	"unicode/utf16"
)

// msOutbox is how SQL Server writes what depends on the columns of an outbox.
type msOutbox struct{}

func (msOutbox) seq() string { return "seq" }

// same compares the lengths, too: to SQL Server, text with more blanks at its end is equal.
func (msOutbox) same(typ1, id1, typ2, id2 string) string {
	equal := func(a, b string) string {
		return a + " = " + b + msExact + " AND DATALENGTH(" + a + ") = DATALENGTH(" + b + ")"
	}
	return equal(typ1, typ2) + " AND " + equal(id1, id2)
}

func (msOutbox) shard(typ, id string) string {
	return "(N'a:' + LOWER(CONVERT(nvarchar(32), HASHBYTES('MD5', " + typ + "), 2)) + LOWER(CONVERT(nvarchar(32), HASHBYTES('MD5', " + id + "), 2)))"
}

func (msOutbox) shardOf(typ, id string) string { return HashedShard(utf16Bytes(typ), utf16Bytes(id)) }

func utf16Bytes(s string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

// update reads the list first, and seeks its rows: any other plan would lock what it looks at, up to the whole table.
func (msOutbox) update(table, alias, set, from, where string) string {
	return "UPDATE " + alias + " SET " + set + " FROM " + from + " INNER LOOP JOIN " + table + " AS " + alias + " WITH (ROWLOCK) ON " + where
}

func (d msOutbox) bySeq(s *statement.Statement, table statement.Name, set func() string, seqs []int64) {
	type object struct {
		Seq int64 `json:"seq"`
	}
	list := make([]object, len(seqs))
	for i, seq := range seqs {
		list[i].Seq = seq
	}
	value := set()
	s.Add(d.update(table.String(), "o", value, s.Rows("r", []statement.Field{statement.Int("seq")}, list), "o.seq = r.seq"), " WHERE 1 = 1")
}

func (msOutbox) seek(_, _ string) string { return "" }

func (msOutbox) force(string) string { return "" }

func (msOutbox) byState() bool { return false }

func (msOutbox) orderly(_, _, _ string) string { return "" }

// ago counts in seconds: DATEADD's milliseconds end at 24 days.
func (msOutbox) ago(s *statement.Statement, d time.Duration) string {
	return "DATEADD(second, -CAST(" + s.Arg(WholeSeconds(d)) + " AS int), SYSUTCDATETIME())"
}

// ddl for SQL Server: filtered indexes, as PostgreSQL's. A session that inserts needs QUOTED_IDENTIFIER, ANSI_NULLS and
// ARITHABORT on, as every current driver has them (sqlcmd needs -I). The columns compare byte by byte. The bucket is made as
// elsewhere, but of the id in UTF-16: its numbers are not those of the other engines.
func (msOutbox) ddl(table statement.Name, claims, states, blocked string) []string {
	this := msLiteral(table.String())
	index := func(what, columns, where string) string {
		return `IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(` + this + `) AND name = ` + msLiteral(table.Index(what)) + `)
CREATE INDEX ` + table.IndexName(what) + ` ON ` + table.String() + ` ` + columns + ` WHERE ` + where
	}
	return []string{
		`IF OBJECT_ID(` + this + `) IS NULL
CREATE TABLE ` + table.String() + ` (
    seq bigint IDENTITY(1, 1) NOT NULL PRIMARY KEY,
    id AS (seq),
    aggregate_type nvarchar(255)` + msExact + ` NOT NULL,
    aggregate_id nvarchar(255)` + msExact + ` NOT NULL,
    event_type nvarchar(255)` + msExact + ` NOT NULL,
    payload nvarchar(max) NOT NULL,
    created_at datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    published AS (CAST(CASE WHEN state = 'PUBLISHED' THEN 1 ELSE 0 END AS bit)),
    published_at datetime2(6) NULL,
    retry_count int NOT NULL DEFAULT 0,
    idempotency_key nvarchar(255)` + msExact + ` NOT NULL UNIQUE,
    state varchar(16)` + msExact + ` NOT NULL DEFAULT 'PENDING' CHECK (state IN (` + states + `)),
    next_attempt_at datetime2(6) NULL,
    last_error nvarchar(1000) NULL,
    bucket AS (CAST((CAST(SUBSTRING(HASHBYTES('MD5', aggregate_id), 1, 2) AS int) / 16) & 1023 AS smallint)) PERSISTED NOT NULL,
    traceparent nvarchar(255) NULL,
    tracestate nvarchar(1000) NULL
)`,
		index("pending", "(bucket, seq)", "state = 'PENDING'"),
		index("order", "(seq, bucket)", "state = 'PENDING'"),
		index("publishing", "(seq)", "state = 'PUBLISHING'"),
		index("due", "(next_attempt_at)", "state = 'FAILED'"),
		index("blocked", "(aggregate_type, aggregate_id, seq) INCLUDE (state)", "state IN ("+blocked+")"),
		claims,
	}
}
