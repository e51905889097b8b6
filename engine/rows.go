package engine

import (
	"context"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// EachRow runs a catalog query and calls use for each row.
func EachRow(ctx context.Context, q statement.Querier, text string, args []any,
	use func(scan func(...any) error) error) error {
	return statement.Rows(ctx, q, text, args, func(scan func(...any) error) (bool, error) { return true, use(scan) })
}

// Texts reads a catalog query's only column.
func Texts(ctx context.Context, q statement.Querier, text string, args ...any) (list []string, err error) {
	err = EachRow(ctx, q, text, args, func(scan func(...any) error) error {
		var s string
		err := scan(&s)
		list = append(list, s)
		return err
	})
	return list, err
}
