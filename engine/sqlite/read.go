package sqlite

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
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
)

// Read runs a statement on the driver's own connection, below database/sql, which would copy and convert every value.
func (Dialect) Read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []engine.Column,
	each func(engine.Row) (bool, error)) error {
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
		r := &sqlRow{cols: cols, values: make([]driver.Value, len(cols))}
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

// sqlRow is a row by storage class: int64, float64, string, []byte or nil.
type sqlRow struct {
	cols   []engine.Column
	values []driver.Value
}

func (r *sqlRow) AppendJSON(dst []byte, i int) ([]byte, error) {
	code := r.cols[i].Value.Code
	switch v := r.values[i].(type) {
	case nil:
		return change.AppendNull(dst), nil
	case int64:
		if code == asBool && (v == 0 || v == 1) {
			return change.AppendBool(dst, v == 1), nil
		}
		if code == asBlob {
			return dst, errClass("an integer", "a BLOB")
		}
		return change.AppendInt(dst, v), nil
	case float64:
		if code == asBlob {
			return dst, errClass("a float", "a BLOB")
		}
		if math.IsInf(v, 0) && r.cols[i].Value.Kind != engine.KindFloat {
			return dst, errors.New("it is infinite, which only a column declared REAL may be")
		}
		return change.AppendFloat(dst, v, 64), nil
	case string:
		return r.appendText(dst, v, &r.cols[i])
	case []byte:
		if code != asBlob {
			return dst, errClass("a BLOB", "text or a number")
		}
		return change.AppendBinary(dst, v), nil
	default:
		return dst, fmt.Errorf("the driver gave a %T, which has no storage class", v)
	}
}

func (r *sqlRow) appendText(dst []byte, v string, col *engine.Column) ([]byte, error) {
	switch code := col.Value.Code; {
	case code == asBlob:
		return dst, errClass("text", "a BLOB")
	case !change.ValidText(v):
		return dst, scalar.ErrNotUTF8
	case code == asAny && col.Positional:
		if _, integer := scalar.BigInteger(v); integer {
			return dst, fmt.Errorf("it is the text %s in a key without a declared type, and its JSON could not be told from the integer's: CAST it AS INTEGER in the query", v)
		}
	case code == asJSON:
		if !json.Valid([]byte(v)) {
			return dst, errors.New("it is declared JSON and is not JSON")
		}
		return scalar.AppendCompact(dst, []byte(v))
	}
	return change.AppendString(dst, v), nil
}

// What a value without a form is, in its place.
const (
	placeInteger = "integer"
	placeReal    = "real"
	placeText    = "text_base64"
	placeBlob    = "blob_base64"
)

// AppendPlace implements engine.Placer: an object whose one member says what the value is.
func (r *sqlRow) AppendPlace(dst []byte, i int) ([]byte, bool) {
	var what, text string
	switch v := r.values[i].(type) {
	case int64:
		what, text = placeInteger, strconv.FormatInt(v, 10)
	case float64:
		what, text = placeReal, strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		what, text = placeText, base64.StdEncoding.EncodeToString([]byte(v))
	case []byte:
		what, text = placeBlob, base64.StdEncoding.EncodeToString(v)
	default:
		return dst, false
	}
	dst = append(change.AppendString(append(dst, '{'), what), ':')
	return append(change.AppendString(dst, text), '}'), true
}

// placed reads what AppendPlace wrote.
func placed(stored []byte) (v any, err error) {
	var place map[string]string
	if err := json.Unmarshal(stored, &place); err != nil || len(place) != 1 {
		return nil, errors.New("it is no value, and not the place of one")
	}
	for what, text := range place {
		var data []byte
		switch what {
		case placeInteger:
			v, err = strconv.ParseInt(text, 10, 64)
		case placeReal:
			v, err = strconv.ParseFloat(text, 64)
		case placeText:
			data, err = base64.StdEncoding.DecodeString(text)
			v = string(data)
		case placeBlob:
			data, err = base64.StdEncoding.DecodeString(text)
			v = data
		default:
			err = errors.New("SQLite has no such storage class")
		}
		if err != nil {
			return nil, fmt.Errorf("it is no %s: %w", what, err)
		}
	}
	return v, nil
}

// errClass reports a value that is stored in another class than its column is declared for, so that its form
// could not be told from another value's.
func errClass(is, want string) error {
	return fmt.Errorf("it is stored as %s in a column declared for %s: CAST it in the table", is, want)
}

// Arg gives the value the storage class that it came with: the forms of a column's classes differ, see sqlRow.
func (Dialect) Arg(col *engine.Column, stored []byte) (any, error) {
	if len(stored) > 0 && stored[0] == '{' {
		return placed(stored)
	}
	text, err := scalar.Text(stored)
	if err != nil {
		return nil, err
	}
	quoted := stored[0] == '"'
	switch {
	case text == "true" && !quoted:
		return int64(1), nil
	case text == "false" && !quoted:
		return int64(0), nil
	case col.Value.Code == asBlob:
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil || !quoted {
			return nil, errors.New("it is not base64")
		}
		return data, nil
	case quoted && col.Value.Code == asString:
		return text, nil
	case quoted && col.Value.Code == asAny:
		if n, integer := scalar.BigInteger(text); integer {
			return n, nil
		}
		return text, nil
	}
	// Digits in a string are an integer beyond 2^53: in a numeric column SQLite keeps no text that looks like one.
	if n, err := strconv.ParseInt(text, 10, 64); err == nil &&
		(quoted || (n <= change.MaxSafeInteger && n >= -change.MaxSafeInteger)) {
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

// Snapshot implements engine.Snapshotter. The snapshot, or the lock that is one, is taken by the first statement.
func (Dialect) Snapshot(ctx context.Context, conn *sql.Conn, work func() error) error {
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("begin to read in one snapshot: %w", err)
	}
	err := work()
	if _, end := conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err == nil && end != nil {
		return fmt.Errorf("end reading in one snapshot: %w", end)
	}
	return err
}

// Commits implements engine.CommitCounter. In WAL mode the number also moves when the first write of a transaction
// begins the log anew.
func (Dialect) Commits(ctx context.Context, conn *sql.Conn) (n int64, err error) {
	if err := conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n); err != nil {
		return 0, fmt.Errorf("read data_version: %w", err)
	}
	return n, nil
}
