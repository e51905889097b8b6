package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Tables is what PostgreSQL's catalog says of tables.
type Tables struct{}

// Ready accepts every database: no option of PostgreSQL stands in an outbox's way.
func (Tables) Ready(context.Context, statement.Querier) error { return nil }

// Resolve returns schema.table, or "" where there is none. A name without a schema is looked for along the search path.
func (Tables) Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	var schema, table string
	err := q.QueryRowContext(ctx, `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1)`, n.String()).Scan(&schema, &table)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", n, err)
	}
	return schema + "." + table, nil
}

// Columns tells a domain as the type below it, an enum as such: a parameter needs no cast there.
func (d Tables) Columns(ctx context.Context, q statement.Querier, n statement.Name) ([]column.Column, error) {
	return column.Read(ctx, q, d.Kind, pgColumns, n.String())
}

const pgColumns = `SELECT a.attname, CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod) WHEN 'e' THEN 'enum'
	ELSE format_type(a.atttypid, a.atttypmod) END, NOT (a.attnotnull OR t.typnotnull)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// Kind knows that bit is a string of bits.
func (Tables) Kind(typ string) column.Kind {
	if column.TypeName(typ) == "bit" {
		return column.Other
	}
	return column.KindOf(typ)
}
