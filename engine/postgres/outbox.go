package postgres

import (
	"context"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Outbox is how PostgreSQL writes what depends on the columns of an outbox.
type Outbox struct{ statement.Outbox }

// Ddl for PostgreSQL. The partial indexes hold only what is still to be done, so that polling does not get slower
// with what was published. An event that is published costs no further entry in them; one that never fails is in one
// of them only.
//
// autovacuum is told to come after so many dead rows, not after a share of what may be a week of published ones.
func (Outbox) Ddl(table statement.Name, claims, states, blocked string) []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    seq bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    id bigint NOT NULL GENERATED ALWAYS AS (seq) STORED,
    aggregate_type varchar(255) NOT NULL,
    aggregate_id varchar(255) NOT NULL,
    event_type varchar(255) NOT NULL,
    payload text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    published boolean NOT NULL GENERATED ALWAYS AS (state = 'PUBLISHED') STORED,
    published_at timestamptz NULL,
    retry_count integer NOT NULL DEFAULT 0,
    idempotency_key varchar(255) NOT NULL UNIQUE,
    state varchar(16) NOT NULL DEFAULT 'PENDING' CHECK (state IN (` + states + `)),
    next_attempt_at timestamptz NULL,
    last_error varchar(1000) NULL,
    bucket smallint NOT NULL GENERATED ALWAYS AS (CAST(CAST(CAST('x' || substr(md5(aggregate_id), 1, 3) ` +
			`AS bit(12)) AS integer) & 1023 AS smallint)) STORED,
    traceparent varchar(255) NULL,
    tracestate varchar(1000) NULL,
    available_at timestamptz NULL,
    expires_at timestamptz NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000)`,
		`CREATE INDEX IF NOT EXISTS ` + table.IndexName("pending") + ` ON ` + table.String() +
			` (bucket, seq) WHERE state = 'PENDING'`,
		`CREATE INDEX IF NOT EXISTS ` + table.IndexName("order") + ` ON ` + table.String() +
			` (seq, bucket) WHERE state = 'PENDING'`,
		`CREATE INDEX IF NOT EXISTS ` + table.IndexName("due") + ` ON ` + table.String() +
			` (next_attempt_at) WHERE state = 'FAILED'`,
		`CREATE INDEX IF NOT EXISTS ` + table.IndexName("blocked") + ` ON ` + table.String() +
			` (aggregate_type, aggregate_id, seq) WHERE state IN (` + blocked + `)`,
		claims,
	}
}

// Resolve returns schema.table, or "" where there is none. A name without a schema is looked for along the search path.
func Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	return n.Found(q.QueryRowContext(ctx, `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1)`, n.String()))
}
