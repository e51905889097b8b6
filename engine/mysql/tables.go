package mysql

import (
	"context"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Resolve returns schema.table from information_schema, or "" where there is none. A name without a schema is looked
// for in the current database.
func Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	var schema, table string
	text, args := "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", []any{n.Base()}
	if n.Schema() != "" {
		text = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
		args = []any{n.Schema(), n.Base()}
	}
	found, err := n.Found(q.QueryRowContext(ctx, text, args...), &schema, &table)
	if !found {
		return "", err
	}
	return schema + "." + table, nil
}
