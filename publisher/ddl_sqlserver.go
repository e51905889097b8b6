package publisher

import (
	"strings"

	"github.com/rowrelay/rowrelay/plaintext"
)

// ddl for SQL Server: filtered indexes, as PostgreSQL's. A session that inserts needs QUOTED_IDENTIFIER, ANSI_NULLS and
// ARITHABORT on, as every current driver has them (sqlcmd needs -I). The columns compare byte by byte. The bucket is made as
// elsewhere, but of the id in UTF-16: its numbers are not those of the other engines.
func (d sqlServer) ddl(table, claims name) []string {
	literal := func(n name) string { return "N'" + strings.ReplaceAll(n.String(), "'", "''") + "'" }
	index := func(what, columns, where string) string {
		return `IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(` + literal(table) + `) AND name = N'` +
			strings.ReplaceAll(plaintext.Start(table.base(), 63-1-len(what))+"_"+what, "'", "''") + `')
CREATE INDEX ` + table.indexName(what) + ` ON ` + table.String() + ` ` + columns + ` WHERE ` + where
	}
	const exact = " COLLATE Latin1_General_100_BIN2"
	return []string{
		`IF OBJECT_ID(` + literal(table) + `) IS NULL
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
    bucket AS (CAST((CAST(SUBSTRING(HASHBYTES('MD5', aggregate_id), 1, 2) AS int) / 16) & 1023 AS smallint)) PERSISTED NOT NULL,
    traceparent nvarchar(255) NULL,
    tracestate nvarchar(1000) NULL
)`,
		index("pending", "(bucket, seq)", "state = 'PENDING'"),
		index("order", "(seq, bucket)", "state = 'PENDING'"),
		index("publishing", "(seq)", "state = 'PUBLISHING'"),
		index("due", "(next_attempt_at)", "state = 'FAILED'"),
		index("blocked", "(aggregate_type, aggregate_id, seq) INCLUDE (state)", "state IN ("+blockedStates+")"),
		`IF OBJECT_ID(` + literal(claims) + `) IS NULL
CREATE TABLE ` + claims.String() + ` (
    outbox nvarchar(190)` + exact + ` NOT NULL,
    unit nvarchar(255)` + exact + ` NOT NULL,
    owner nvarchar(255)` + exact + ` NOT NULL,
    token bigint NOT NULL,
    expires_at datetime2(6) NOT NULL,
    info nvarchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
)`,
	}
}
