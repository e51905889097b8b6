package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
)

// read runs a statement on the driver's own connection, below database/sql, which would copy and convert every value.
func (sqliteDialect) read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []column, each func(row) (bool, error)) error {
	return conn.Raw(func(raw any) (err error) {
		queryer, ok := raw.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("the connection is a %T, not SQLite's", raw)
		}
		named := make([]driver.NamedValue, len(args))
		for i, a := range args {
			named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
		}
		rows, err := queryer.QueryContext(ctx, text, named)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		r := &sqliteRow{cols: cols, values: make([]driver.Value, len(cols))}
		for {
			switch err := rows.Next(r.values); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case ctx.Err() != nil:
				return context.Cause(ctx)
			}
			if more, err := each(r); err != nil || !more {
				return err
			}
		}
	})
}

// sqliteRow is a row by storage class: int64, float64, string, []byte or nil.
type sqliteRow struct {
	cols   []column
	values []driver.Value
}

func (r *sqliteRow) appendJSON(dst []byte, i int) ([]byte, error) {
	code := r.cols[i].value.code
	switch v := r.values[i].(type) {
	case nil:
		return change.AppendNull(dst), nil
	case int64:
		if code == sqliteBool && (v == 0 || v == 1) {
			return change.AppendBool(dst, v == 1), nil
		}
		if code == sqliteBlob {
			return dst, errSQLiteClass("an integer", "a BLOB")
		}
		return change.AppendInt(dst, v), nil
	case float64:
		if code == sqliteBlob {
			return dst, errSQLiteClass("a float", "a BLOB")
		}
		if math.IsInf(v, 0) && r.cols[i].value.kind != kindFloat {
			return dst, errors.New("it is infinite, which only a column declared REAL may be")
		}
		return change.AppendFloat(dst, v, 64), nil
	case string:
		return r.appendText(dst, v, &r.cols[i])
	case []byte:
		if code != sqliteBlob {
			return dst, errSQLiteClass("a BLOB", "text or a number")
		}
		return change.AppendBinary(dst, v), nil
	default:
		return dst, fmt.Errorf("the driver gave a %T, which has no storage class", v)
	}
}

func (r *sqliteRow) appendText(dst []byte, v string, col *column) ([]byte, error) {
	switch code := col.value.code; {
	case code == sqliteBlob:
		return dst, errSQLiteClass("text", "a BLOB")
	case !change.ValidText(v):
		return dst, errNotUTF8
	case code == sqliteAny && col.positional:
		if _, integer := bigInteger(v); integer {
			return dst, fmt.Errorf("it is the text %s in a key without a declared type, and its JSON could not be told from the integer's: CAST it AS INTEGER in the query", v)
		}
	case code == sqliteJSON:
		if !json.Valid([]byte(v)) {
			return dst, errors.New("it is declared JSON and is not JSON")
		}
		return appendCompact(dst, []byte(v))
	}
	return change.AppendString(dst, v), nil
}

// bigInteger reads an integer beyond ±(2^53−1) as it stands in a string of JSON, and nothing else: text with a plus or
// with zeros in front of it is text.
func bigInteger(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= change.MaxSafeInteger && n >= -change.MaxSafeInteger || strconv.FormatInt(n, 10) != text {
		return 0, false
	}
	return n, true
}

// errSQLiteClass reports a value that is stored in another class than its column is declared for, so that its form
// could not be told from another value's.
func errSQLiteClass(is, want string) error {
	return fmt.Errorf("it is stored as %s in a column declared for %s: CAST it in the table", is, want)
}

// arg gives the value the storage class that it came with: the forms of a column's classes differ, see sqliteRow.
func (sqliteDialect) arg(col *column, scalar []byte) (any, error) {
	text, err := scalarText(scalar)
	if err != nil {
		return nil, err
	}
	quoted := scalar[0] == '"'
	switch {
	case text == "true" && !quoted:
		return int64(1), nil
	case text == "false" && !quoted:
		return int64(0), nil
	case col.value.code == sqliteBlob:
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !quoted {
			return nil, errors.New("it is not base64")
		}
		return data, nil
	case quoted && col.value.code == sqliteText:
		return text, nil
	case quoted && col.value.code == sqliteAny:
		if n, integer := bigInteger(text); integer {
			return n, nil
		}
		return text, nil
	}
	// Digits in a string are an integer beyond 2^53: in a numeric column SQLite keeps no text that looks like one.
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && (quoted || (n <= change.MaxSafeInteger && n >= -change.MaxSafeInteger)) {
		return n, nil
	}
	if quoted {
		return text, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("it is no number: %w", err)
	}
	return f, nil
}
