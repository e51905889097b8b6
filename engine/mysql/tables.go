package mysql

import (
	"context"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Tables is what the catalog of MySQL and MariaDB says of tables.
type Tables struct{}

// Ready accepts every database: no option of MySQL or MariaDB stands in an outbox's way.
func (Tables) Ready(context.Context, statement.Querier) error { return nil }

// Resolve returns schema.table from information_schema, or "" where there is none. A name without a schema is looked
// for in the current database.
func (Tables) Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
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

// Columns reads what SHOW COLUMNS tells: of six columns the first three are field, type and whether it may be NULL.
func (d Tables) Columns(ctx context.Context, q statement.Querier, n statement.Name) (list []column.Column, err error) {
	s := statement.New(Statement{}).Add("SHOW COLUMNS FROM ", n.String())
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var c column.Column
		var nullable string
		var key, byDefault, extra any
		if err := scan(&c.Name, &c.Type, &nullable, &key, &byDefault, &extra); err != nil {
			return false, err
		}
		c.Kind, c.Nullable = d.Kind(c.Type), strings.EqualFold(nullable, "YES")
		list = append(list, c)
		return true, nil
	})
	return list, err
}

// Kind needs no exceptions for MySQL: the name of the type decides.
func (Tables) Kind(typ string) column.Kind { return column.KindOf(typ) }
