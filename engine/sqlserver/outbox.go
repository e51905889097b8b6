package sqlserver

import "github.com/rowrelay/rowrelay/engine/statement"

// Outbox is how SQL Server writes what depends on the columns of an outbox.
type Outbox struct{ statement.Outbox }

// Same compares the lengths, too: to SQL Server, text with more blanks at its end is equal. They are those of
// characters: a table that somebody made with varchar has half the bytes of a parameter.
func (Outbox) Same(typ1, id1, typ2, id2 string) string {
	equal := func(a, b string) string {
		return a + " = " + b + exact + " AND LEN(" + a + " + N'.') = LEN(" + b + " + N'.')"
	}
	return equal(typ1, typ2) + " AND " + equal(id1, id2)
}

// Update reads the list first, and seeks its rows: any other plan would lock what it looks at, up to the whole table.
func (Outbox) Update(table, alias, set, from, where string) string {
	return "UPDATE " + alias + " SET " + set + " FROM " + from + " INNER LOOP JOIN " + table + " AS " + alias +
		" WITH (ROWLOCK) ON " + where
}

// BySeq joins the numbers as a JSON array by Update, which seeks each row.
func (d Outbox) BySeq(s *statement.Statement, table statement.Name, set func() string, seqs []int64) {
	type object struct {
		Seq int64 `json:"seq"`
	}
	list := make([]object, len(seqs))
	for i, seq := range seqs {
		list[i].Seq = seq
	}
	value := set()
	s.Add(d.Update(table.String(), "o", value, s.Rows("r", []statement.Field{statement.Int("seq")}, list),
		"o.seq = r.seq"), " WHERE 1 = 1")
}

// Ddl for SQL Server: filtered indexes, as PostgreSQL's. A session that inserts needs QUOTED_IDENTIFIER, ANSI_NULLS
// and ARITHABORT on, as every current driver has them (sqlcmd needs -I). The columns compare byte by byte. The bucket
// is made as elsewhere, but of the id in UTF-16: its numbers are not those of the other engines.
func (Outbox) Ddl(table statement.Name, claims, states, blocked string) []string {
	this := TextLiteral(table.String())
	index := func(what, columns, where string) string {
		return `IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(` + this + `) AND name = ` + TextLiteral(table.Index(what)) + `)
CREATE INDEX ` + table.IndexName(what) + ` ON ` + table.String() + ` ` + columns + ` WHERE ` + where
	}
	return []string{
		`IF OBJECT_ID(` + this + `) IS NULL
CREATE TABLE ` + table.String() + ` (
    seq bigint IDENTITY(1, 1) NOT NULL PRIMARY KEY,
    id AS (seq),
    aggregate_type nvarchar(255)` + exact + ` NOT NULL,
    aggregate_id nvarchar(255)` + exact + ` NOT NULL,
    event_type nvarchar(255)` + exact + ` NOT NULL,
    payload nvarchar(max) NOT NULL,
    created_at datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    published AS (CAST(CASE WHEN state = 'PUBLISHED' THEN 1 ELSE 0 END AS bit)),
    published_at datetime2(6) NULL,
    retry_count int NOT NULL DEFAULT 0,
    idempotency_key nvarchar(255)` + exact + ` NOT NULL UNIQUE,
    state varchar(16)` + exact + ` NOT NULL DEFAULT 'PENDING' CHECK (state IN (` + states + `)),
    next_attempt_at datetime2(6) NULL,
    last_error nvarchar(1000) NULL,
    bucket AS (CAST((CAST(SUBSTRING(HASHBYTES('MD5', aggregate_id), 1, 2) AS int) / 16) ` +
			`& 1023 AS smallint)) PERSISTED NOT NULL,
    traceparent nvarchar(255) NULL,
    tracestate nvarchar(1000) NULL,
    available_at datetime2(6) NULL,
    expires_at datetime2(6) NULL
)`,
		index("pending", "(bucket, seq) INCLUDE (aggregate_type, aggregate_id)", "state = 'PENDING'"),
		index("order", "(seq, bucket)", "state = 'PENDING'"),
		index("due", "(next_attempt_at)", "state = 'FAILED'"),
		index("blocked", "(aggregate_type, aggregate_id, seq) INCLUDE (state)", "state IN ("+blocked+")"),
		claims,
	}
}
