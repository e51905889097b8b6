package publisher

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
)

// querier is a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// statement is one statement under construction: text and arguments grow together, in the order of the text, so that engines
// with positional parameters take the same arguments.
type statement struct {
	syntax syntax
	text   strings.Builder
	args   []any
}

func newStatement(d syntax) *statement { return &statement{syntax: d} }

// add appends text; calls of arg among its parameters are evaluated from left to right, as the parameters stand.
func (s *statement) add(parts ...string) *statement {
	for _, p := range parts {
		s.text.WriteString(p)
	}
	return s
}

// arg adds an argument and returns its parameter.
func (s *statement) arg(v any) string { return s.bind(v, false) }

// list is arg for a list, which may have any length.
func (s *statement) list(v any) string { return s.bind(v, true) }

func (s *statement) bind(v any, list bool) string {
	text, bound := s.syntax.param(len(s.args)+1, v, list)
	s.args = append(s.args, bound)
	return text
}

// rows adds a JSON array and returns the table expression over it.
func (s *statement) rows(alias string, fields []field, list any) string {
	return s.syntax.table(s.list(asJSON(list)), alias, fields)
}

// asJSON encodes a list of plain values.
func asJSON(list any) string {
	data, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("statement: a list of plain values does not encode: %v", err))
	}
	return string(data)
}

// String is the statement's text.
func (s *statement) String() string { return s.text.String() }

// Args are the statement's arguments. They belong to it.
func (s *statement) Args() []any { return s.args }

// exec runs the statement and returns how many rows it changed.
func (s *statement) exec(ctx context.Context, q querier) (int64, error) {
	res, err := q.ExecContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// row reads a result's first row, and the result to its end: a statement that changes what it shows can fail after the
// row, and then has changed nothing. Without a row the error is sql.ErrNoRows.
func (s *statement) row(ctx context.Context, q querier, into ...any) error {
	first := true
	err := s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		if !first {
			return true, nil
		}
		first = false
		return true, scan(into...)
	})
	if err == nil && first {
		err = sql.ErrNoRows
	}
	return err
}

// texts reads a result of one text column.
func (s *statement) texts(ctx context.Context, q querier) ([]string, error) {
	return column[string](ctx, s, q)
}

// ints reads a result of one integer column.
func (s *statement) ints(ctx context.Context, q querier) ([]int64, error) {
	return column[int64](ctx, s, q)
}

func column[T string | int64](ctx context.Context, s *statement, q querier) (list []T, err error) {
	err = s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		var v T
		err := scan(&v)
		list = append(list, v)
		return true, err
	})
	return list, err
}

// each calls scan for every row of the result, until it returns false or an error.
func (s *statement) each(ctx context.Context, q querier, scan func(scan func(...any) error) (more bool, err error)) (err error) {
	rows, err := q.QueryContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for rows.Next() {
		if more, err := scan(rows.Scan); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
