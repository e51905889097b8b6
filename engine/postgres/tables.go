package postgres

import (
	"context"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Resolve returns schema.table, or "" where there is none. A name without a schema is looked for along the search path.
func Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	var schema, table string
	found, err := n.Found(q.QueryRowContext(ctx, `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1)`, n.String()), &schema, &table)
	if !found {
		return "", err
	}
	return schema + "." + table, nil
}

// KindOf knows that bit is a string of bits, and that citext may lie in any schema.
func KindOf(typ string) column.Kind {
	switch {
	case column.TypeName(typ) == "bit":
		return column.Other
	case strings.HasSuffix(typ, ".citext"):
		return column.Text
	}
	return column.KindOf(typ)
}
