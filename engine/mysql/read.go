package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
)

// Read runs a statement on the driver's own connection, below database/sql, in the text protocol: one round trip, and
// the values are the wire's bytes.
func (Dialect) Read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []engine.Column,
	each func(engine.Row) (bool, error)) error {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return conn.Raw(func(raw any) (err error) {
		rows, done, err := query(ctx, raw, text, named)
		if err != nil {
			return err
		}
		defer func() {
			if closed := done(); err == nil {
				err = closed
			}
		}()
		defer func() {
			if closed := rows.Close(); err == nil {
				err = closed
			}
		}()
		r := &sqlRow{cols: cols, values: make([]driver.Value, len(cols))}
		if n := len(rows.Columns()); n != len(cols) {
			return fmt.Errorf("%w: %d columns instead of %d", engine.ErrSchemaChanged, n, len(cols))
		}
		if err := sameTypes(rows, cols); err != nil {
			return err
		}
		for {
			if err := rows.Next(r.values); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if more, err := each(r); err != nil || !more {
				return err
			}
		}
	})
}

// sameTypes sees to it that values still arrive in the form that the columns are read by: the text protocol brings
// bytes for a number, a text, JSON and a blob alike.
func sameTypes(rows driver.Rows, cols []engine.Column) error {
	named, ok := rows.(driver.RowsColumnTypeDatabaseTypeName)
	if !ok {
		return fmt.Errorf("the rows are a %T, not go-sql-driver's", rows)
	}
	for i := range cols {
		sent := Type{Data: protocolType(named.ColumnTypeDatabaseTypeName(i))}.Value()
		want, got := cols[i].Value.Code&0xff, sent.Code&0xff
		same := want == got || want == myJSON && got == myText || // MariaDB has no type of its own for JSON
			cols[i].Value.Expr != "" || sent.Refused != "" // a type that the protocol does not name
		if !same {
			return fmt.Errorf("%w: column %q", engine.ErrSchemaChanged, cols[i].Name)
		}
	}
	return nil
}

// query sends a statement in one round trip with its parameters written in. Where the driver cannot do that (it
// takes a question mark inside of a literal of the user's condition for a parameter) the statement is prepared, which
// takes three and brings the same values. done closes what was prepared.
func query(ctx context.Context, raw any, text string, args []driver.NamedValue) (rows driver.Rows, done func() error,
	err error) {
	conn, ok := raw.(interface {
		driver.QueryerContext
		driver.ConnPrepareContext
	})
	if !ok {
		return nil, nil, fmt.Errorf("the connection is a %T, not go-sql-driver's", raw)
	}
	rows, err = conn.QueryContext(ctx, text, args)
	if !errors.Is(err, driver.ErrSkip) {
		return rows, func() error { return nil }, err
	}
	stmt, err := conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	query, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("the statement is a %T, not go-sql-driver's", stmt), stmt.Close())
	}
	if rows, err = query.QueryContext(ctx, args); err != nil {
		return nil, nil, errors.Join(err, stmt.Close())
	}
	return rows, stmt.Close, nil
}

// sqlRow is a row as go-sql-driver returns it in the text protocol; the binary one brings the same Go types, except
// that an integer beyond int64 comes as its digits.
type sqlRow struct {
	cols   []engine.Column
	values []driver.Value
}

func (r *sqlRow) AppendJSON(dst []byte, i int) ([]byte, error) {
	code := r.cols[i].Value.Code & 0xff
	switch v := r.values[i].(type) {
	case nil:
		return change.AppendNull(dst), nil
	case int64:
		if code == myInt {
			return change.AppendInt(dst, v), nil
		}
	case uint64:
		if code == myInt {
			return change.AppendUint(dst, v), nil
		}
	case float64:
		switch code {
		case myDouble:
			return change.AppendFloat(dst, v, 64), nil
		case myFloat:
			return change.AppendFloat(dst, v, 32), nil
		}
	case []byte:
		return appendBytes(dst, code, v)
	}
	return dst, fmt.Errorf("%w: it arrived as %T", engine.ErrSchemaChanged, r.values[i])
}

func appendBytes(dst []byte, code int, v []byte) ([]byte, error) {
	switch code {
	case myText:
		if !change.ValidText(v) {
			return dst, scalar.ErrNotUTF8
		}
		return change.AppendString(dst, v), nil
	case myBinary:
		return change.AppendBinary(dst, v), nil
	case myJSON:
		return scalar.AppendCompact(dst, v)
	case myDecimal, myDate:
		return change.AppendQuoted(dst, v), nil
	case myTime, myDateTime, myTimestamp:
		return appendTime(dst, code, v), nil
	case myBit:
		var n uint64
		for _, b := range v {
			n = n<<8 | uint64(b)
		}
		return change.AppendUint(dst, n), nil
	case myInt:
		// A sum in a query can be wider than 64 bits.
		return change.AppendIntegerText(dst, v), nil
	}
	return dst, fmt.Errorf("%w: it arrived as text", engine.ErrSchemaChanged)
}

// appendTime turns 2026-04-07 01:23:45.120000 into the one form: a T between, no zeros at the fraction's end, a Z
// where the session's zone, UTC, gave the text.
func appendTime(dst []byte, code int, v []byte) []byte {
	if bytes.IndexByte(v, '.') >= 0 {
		v = bytes.TrimRight(v, "0")
		v = bytes.TrimSuffix(v, []byte("."))
	}
	dst = append(dst, '"')
	at := len(dst)
	dst = append(dst, v...)
	if code != myTime && len(v) > 10 {
		dst[at+10] = 'T'
	}
	if code == myTimestamp {
		dst = append(dst, 'Z')
	}
	return append(dst, '"')
}

// Arg implements engine.Dialect.
func (Dialect) Arg(col *engine.Column, stored []byte) (any, error) {
	scale := col.Value.Code >> 8
	code := col.Value.Code & 0xff
	switch code {
	case myInt, myBit:
		if v, err := scalar.Int(stored); err == nil {
			return v, nil
		}
		s, err := scalar.Text(stored)
		if err != nil {
			return nil, err
		}
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, errors.New("expected a whole number")
		}
		return v, nil
	case myDecimal:
		return scalar.Decimal(stored, scale)
	case myText:
		return scalar.Text(stored)
	case myBinary:
		return scalar.Binary(stored)
	case myTime:
		s, err := scalar.Text(stored)
		if err != nil || !isTime(s) {
			return nil, errors.New("expected a time, as in 01:23:45.123")
		}
		return s, nil
	case myDate, myDateTime, myTimestamp:
		return timeArg(code, scale, stored)
	}
	return nil, errors.New("the column cannot be compared")
}

func timeArg(code, scale int, stored []byte) (any, error) {
	m, err := scalar.ParseMoment(stored)
	if err != nil {
		return nil, err
	}
	switch {
	case code == myTimestamp && m.Offset != "" && m.Offset != "Z" && m.Offset != "+00:00":
		return nil, errors.New("expected a time in UTC, as in 2026-04-07T01:23:45.123Z")
	case code != myTimestamp && m.Offset != "":
		return nil, errors.New("expected a time without a zone: the column has none")
	case code == myDate:
		return m.Date, nil
	}
	return m.Join(" ", scale), nil
}

// isTime reports whether s is [-]hh[h]:mm:ss[.ffffff].
func isTime(s string) bool {
	s = strings.TrimPrefix(s, "-")
	clock, fraction, point := strings.Cut(s, ".")
	return (scalar.Shaped(clock, "00:00:00") || scalar.Shaped(clock, "000:00:00")) &&
		strings.Trim(fraction, "0123456789") == "" &&
		(!point || fraction != "") && len(fraction) <= 6
}

// Snapshot implements engine.Snapshotter. InnoDB's snapshot is taken by the first statement that reads. Where ctx ends
// before it does, the transaction stays open: whoever gave the connection closes it after an error.
func (Dialect) Snapshot(ctx context.Context, conn *sql.Conn, work func() error) error {
	for _, text := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION READ ONLY"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("begin to read in one snapshot: %w", err)
		}
	}
	err := work()
	if _, end := conn.ExecContext(ctx, "COMMIT"); err == nil && end != nil {
		return fmt.Errorf("end reading in one snapshot: %w", end)
	}
	return err
}
