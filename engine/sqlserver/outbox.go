package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
)

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
func (d Outbox) BySeq(s *statement.Statement, table statement.Name, column string, set func() string, seqs []int64) {
	type object struct {
		Seq int64 `json:"seq"`
	}
	list := make([]object, len(seqs))
	for i, seq := range seqs {
		list[i].Seq = seq
	}
	value := set()
	s.Add(d.Update(table.String(), "o", value, s.Rows("r", []statement.Field{statement.Int("seq")}, list),
		"o."+column+" = r.seq"), " WHERE 1 = 1")
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

// optionsSQL names the database: on Azure SQL Database its number in sys.databases is not DB_ID()'s.
const optionsSQL = "SELECT is_read_committed_snapshot_on, CAST(compatibility_level AS int) FROM sys.databases WHERE name = DB_NAME()"

// leastLevel is the first compatibility level that knows OPENJSON. Below it SQL Server calls that a table which is
// not there, as listsSQL shows; another engine of its protocol may tell a low level and know it.
const (
	leastLevel = 130
	listsSQL   = "SELECT COUNT(*) FROM OPENJSON(N'[]') AS j"
)

// Ready refuses a database whose READ COMMITTED reads with locks (the default but on Azure SQL): every read would
// wait for each writer's open transaction, and a scan can miss a row that becomes PENDING after it has
// passed, and return a later one of the same aggregate. So can one that finds an earlier event's failure beside a
// table, and for the later event none any more. A database that does not say so is refused too.
func Ready(ctx context.Context, q statement.Querier) error {
	var on sql.NullBool
	var level sql.NullInt64
	err := q.QueryRowContext(ctx, optionsSQL).Scan(&on, &level)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !on.Valid:
		return fmt.Errorf("%w: sys.databases does not say whether READ_COMMITTED_SNAPSHOT is ON, without which the order of events could not be kept: "+
			"let the login see the row of its database", change.ErrConfig)
	case err != nil:
		return fmt.Errorf("read the database's options: %w", err)
	case !on.Bool:
		return fmt.Errorf("%w: the database reads with locks, so that the order of events could not be kept: run ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON",
			change.ErrConfig)
	case !level.Valid || level.Int64 >= leastLevel:
		return nil
	}
	var none int
	err = q.QueryRowContext(ctx, listsSQL).Scan(&none)
	if engine.Misconfigured(Dialect{}, err) {
		err = fmt.Errorf("%w: the database's compatibility level is %d, and an outbox takes %d (SQL Server 2016) or higher: "+
			"run ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = %d: %w", change.ErrConfig, level.Int64, leastLevel, leastLevel,
			err)
	}
	return err
}

// Resolve returns schema.table, or "" where OBJECT_ID finds none or the login may not see it.
func Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	return n.Found(q.QueryRowContext(ctx, "SELECT OBJECT_SCHEMA_NAME(OBJECT_ID(@p1)), OBJECT_NAME(OBJECT_ID(@p1))",
		n.String()))
}
