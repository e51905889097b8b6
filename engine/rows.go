package engine

import (
	"context"
	"database/sql"
)

// EachRow runs a catalog query and calls use for each row.
func EachRow(ctx context.Context, conn *sql.Conn, text string, args []any,
	use func(scan func(...any) error) error) (err error) {
	rows, err := conn.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for rows.Next() {
		if err := use(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
