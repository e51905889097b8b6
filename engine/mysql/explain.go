package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Explain shows the classic EXPLAIN, one line per step. MySQL 9 shows a tree unless it is told.
func (Dialect) Explain(ctx context.Context, conn *sql.Conn, text string, args []any) (out string, err error) {
	rows, err := conn.QueryContext(ctx, "EXPLAIN FORMAT=TRADITIONAL "+text, args...)
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	defer func() {
		if closed := rows.Close(); err == nil && closed != nil {
			err = fmt.Errorf("explain: %w", closed)
		}
	}()
	names, err := rows.Columns()
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	var b strings.Builder
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return "", fmt.Errorf("explain: %w", err)
		}
		var parts []string
		for i, v := range values {
			if v.Valid && v.String != "" {
				parts = append(parts, names[i]+"="+v.String)
			}
		}
		b.WriteString(strings.Join(parts, "  ") + "\n")
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	return b.String(), nil
}
