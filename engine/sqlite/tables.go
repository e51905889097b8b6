package sqlite

import (
	"context"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Resolve returns the name as it was declared, without a schema, or "" where there is none.
func Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	master := "sqlite_master"
	if n.Schema() != "" {
		master = Statement{}.Quote(n.Schema()) + "." + master
	}
	var table string
	_, err := n.Found(q.QueryRowContext(ctx, "SELECT name FROM "+master+
		" WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE", n.Base()), &table)
	return table, err
}

// KindOf follows the rules of affinity where they decide how a value compares, and the name where it says more. A
// declared type is a hint there: a uuid is text, a boolean is a number.
func KindOf(typ string) column.Kind {
	base := column.TypeName(typ)
	switch {
	case strings.Contains(base, "bool"):
		return column.Bool
	case strings.Contains(base, "int"):
		return column.Integer
	case strings.Contains(base, "time"), strings.Contains(base, "date"):
		return column.Time
	case strings.Contains(base, "json"):
		return column.JSON
	case strings.Contains(base, "blob"), base == "":
		return column.Bytes
	}
	return column.Text
}
