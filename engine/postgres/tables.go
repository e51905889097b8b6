package postgres

import (
	"context"
	"strings"

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
	found, err := n.Found(q.QueryRowContext(ctx, `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1)`, n.String()), &schema, &table)
	if !found {
		return "", err
	}
	return schema + "." + table, nil
}

// Columns tells a domain as the type below it, and an enum as "enum" and its name with its schema, quoted.
func (d Tables) Columns(ctx context.Context, q statement.Querier, n statement.Name) ([]column.Column, error) {
	return column.Read(ctx, q, d.Kind, pgColumns, n.String())
}

// enum stands before the name of an enum.
const enum = "enum "

// A domain may be one of a domain. One of an enum is not told as an enum: it has no operator for equality.
const pgColumns = `WITH RECURSIVE c AS (
SELECT a.attnum, a.attname, a.atttypid AS typ, a.atttypmod AS typmod, a.attnotnull AS required, false AS below
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT c.attnum, c.attname, t.typbasetype, t.typtypmod, c.required OR t.typnotnull, true
FROM c JOIN pg_catalog.pg_type t ON t.oid = c.typ WHERE t.typtype = 'd')
SELECT c.attname, CASE WHEN t.typtype = 'e' AND NOT c.below THEN '` + enum + `' || quote_ident(n.nspname) || '.'
	|| quote_ident(t.typname) ELSE format_type(c.typ, c.typmod) END, NOT c.required
FROM c JOIN pg_catalog.pg_type t ON t.oid = c.typ JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY c.attnum`

// Kind knows that bit is a string of bits, that an enum is text, and that citext may lie in any schema.
func (Tables) Kind(typ string) column.Kind {
	switch {
	case column.TypeName(typ) == "bit":
		return column.Other
	case strings.HasPrefix(typ, enum), strings.HasSuffix(typ, ".citext"):
		return column.Text
	}
	return column.KindOf(typ)
}
