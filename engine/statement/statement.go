// Package statement writes and runs SQL: a statement under construction, names of tables, and a database that repeats
// what may be repeated. What engines write differently is a [Syntax]; each engine's folder has one.
package statement

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Querier is a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Statement is one statement under construction: text and arguments grow together, in the order of the text, so that
// engines with positional parameters take the same arguments.
type Statement struct {
	Syntax Syntax
	text   strings.Builder
	args   []any
}

// New returns an empty statement in the syntax d.
func New(d Syntax) *Statement { return &Statement{Syntax: d} }

// Add appends text; calls of arg among its parameters are evaluated from left to right, as the parameters stand. It is
// not inlined in the hundreds of places that call it: 120 KB of the program.
//
//go:noinline
func (s *Statement) Add(parts ...string) *Statement {
	for _, p := range parts {
		s.text.WriteString(p)
	}
	return s
}

// Arg adds an argument and returns its parameter.
func (s *Statement) Arg(v any) string { return s.bind(v, false) }

// List is arg for a list, which may have any length.
func (s *Statement) List(v any) string { return s.bind(v, true) }

func (s *Statement) bind(v any, list bool) string {
	text, bound := s.Syntax.Param(len(s.args)+1, v, list)
	s.args = append(s.args, bound)
	return text
}

// Rows adds a JSON array and returns the table expression over it.
func (s *Statement) Rows(alias string, fields []Field, list any) string {
	return s.Syntax.Table(s.List(AsJSON(list)), alias, fields)
}

// AsJSON encodes a list of plain values.
func AsJSON(list any) string {
	data, err := json.Marshal(list)
	if err != nil {
		panic(fmt.Sprintf("statement: a list of plain values does not encode: %v", err))
	}
	return string(data)
}

// String is the statement's text.
func (s *Statement) String() string { return s.text.String() }

// Args are the statement's arguments. They belong to it.
func (s *Statement) Args() []any { return s.args }

// counting is a Syntax of an engine whose driver does not know how many rows a statement changed.
type counting interface {
	// Counted writes a statement that says so in an argument more, and stores it in rows.
	Counted(text string, rows *int64) (counted string, arg any)
}

// Exec runs the statement and returns how many rows it changed.
func (s *Statement) Exec(ctx context.Context, q Querier) (int64, error) {
	if syntax, ok := s.Syntax.(counting); ok {
		var rows int64
		text, arg := syntax.Counted(s.text.String(), &rows)
		_, err := q.ExecContext(ctx, text, append(slices.Clip(s.args), arg)...)
		return rows, err
	}
	res, err := q.ExecContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Row reads a result's first row, and the result to its end: a statement that changes what it shows can fail after
// the row, and then has changed nothing. Without a row the error is sql.ErrNoRows.
func (s *Statement) Row(ctx context.Context, q Querier, into ...any) error {
	first := true
	err := s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
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

// Texts reads a result of one text column.
func (s *Statement) Texts(ctx context.Context, q Querier) ([]string, error) {
	return column[string](ctx, s, q)
}

// Ints reads a result of one integer column.
func (s *Statement) Ints(ctx context.Context, q Querier) ([]int64, error) {
	return column[int64](ctx, s, q)
}

func column[T string | int64](ctx context.Context, s *Statement, q Querier) (list []T, err error) {
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var v T
		err := scan(&v)
		list = append(list, v)
		return true, err
	})
	return list, err
}

// Each calls scan for every row of the result, until it returns false or an error.
func (s *Statement) Each(ctx context.Context, q Querier, scan func(scan func(...any) error) (more bool,
	err error)) (err error) {
	return Rows(ctx, q, s.text.String(), s.args, scan)
}

// Rows runs a query and calls scan for every row of the result, until it returns false or an error.
func Rows(ctx context.Context, q Querier, text string, args []any,
	scan func(scan func(...any) error) (more bool, err error)) (err error) {
	rows, err := q.QueryContext(ctx, text, args...)
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

// Syntax is how an engine writes what every statement needs. It has no state. All instants are UTC and the database's
// own.
type Syntax interface {
	// Quote returns name as a quoted identifier.
	Quote(name string) string
	// Param returns the n-th parameter, n from 1, and what is bound to it. A list may have any length.
	Param(n int, v any, list bool) (text string, bound any)
	// Now is the clock at the statement; later is it plus an expression of milliseconds, earlier the same minus.
	Now() string
	Later(ms string) string
	Earlier(ms string) string
	// Age is how many milliseconds an instant lies back, as an integer; negative in the future.
	Age(at string) string
	// Limit stands after ORDER BY, which must be there. It passes over skip rows.
	Limit(n string, skip int) string
	// LookUp joins to each row of the tables before it the one row of a table that has its key, by an index and in their
	// order. What the statistics say of the table's size leads to no other way: one that reads all of its rows. columns
	// are a list of those that the statement names, or *, which takes the right to read all of them.
	LookUp(table, alias, columns, on string) string
	// Bytes is the length of a text column in bytes, or a little less, found without reading it where that is
	// possible.
	Bytes(column string) string
	// AnyInt and anyText are that an expression is one of a list, which is one parameter; MySQL writes the list out.
	AnyInt(s *Statement, expr string, list []int64) string
	AnyText(s *Statement, expr string, list []string) string
	// Table is a table expression over a parameter that holds a JSON array of objects.
	Table(param, alias string, fields []Field) string
	// Lock makes a SELECT lock the rows of one table until the transaction ends: hint stands after the table and its
	// alias, suffix at the end of the statement. skip leaves rows out that are locked already.
	Lock(alias string, skip bool) (hint, suffix string)
}

// Field is a member of the objects in a JSON array.
type Field struct {
	Name string
	Text bool // varchar(1000) at most; otherwise a bigint
}
