package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
)

// Read runs a statement below database/sql, with every column in the text format: the values are the wire's bytes,
// neither parsed nor boxed.
func (Dialect) Read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []engine.Column,
	each func(engine.Row) (bool, error)) error {
	return read(ctx, conn, false, text, args, cols, each)
}

// ReadInOrder implements engine.OrderedReader.
func (Dialect) ReadInOrder(ctx context.Context, conn *sql.Conn, text string, args []any, cols []engine.Column,
	each func(engine.Row) (bool, error)) error {
	return read(ctx, conn, true, text, args, cols, each)
}

func read(ctx context.Context, conn *sql.Conn, inOrder bool, text string, args []any, cols []engine.Column,
	each func(engine.Row) (bool, error)) error {
	return conn.Raw(func(raw any) error {
		s, err := sessionOf(raw)
		if err != nil {
			return err
		}
		s.inOrder = inOrder
		defer func() { s.inOrder = false }()
		r := &sqlRow{cols: cols}
		return s.query(ctx, text, args, func(fields []pgconn.FieldDescription) error {
			s.table = 0
			for i, f := range fields {
				s.table = max(s.table, f.TableOID)
				if want := uint32(cols[i].Value.Code >> 8); cols[i].Value.Expr == "" && want != f.DataTypeOID { //nolint:gosec // an oid
					return fmt.Errorf("%w: column %q", engine.ErrSchemaChanged, cols[i].Name)
				}
			}
			return nil
		}, func(values [][]byte) (bool, error) {
			r.values = values
			return each(r)
		})
	})
}

// sqlRow is a row in the text format.
type sqlRow struct {
	cols    []engine.Column
	values  [][]byte
	scratch []byte
}

func (r *sqlRow) AppendJSON(dst []byte, i int) ([]byte, error) {
	v := r.values[i]
	if v == nil {
		return change.AppendNull(dst), nil
	}
	switch r.cols[i].Value.Code & 0xff {
	case pgBool:
		return change.AppendBool(dst, v[0] == 't'), nil
	case pgInteger:
		return change.AppendIntegerText(dst, v), nil
	case pgQuoted:
		return change.AppendQuoted(dst, v), nil
	case pgTimestamp:
		return appendTime(dst, v, ""), nil
	case pgInstant:
		return appendTime(dst, v, "Z"), nil
	case pgTimeTZ:
		return appendTimeTZ(dst, v), nil
	case pgFloat4:
		return appendFloat(dst, v, 32)
	case pgFloat8:
		return appendFloat(dst, v, 64)
	case pgBytea:
		return r.appendBytea(dst, v)
	case pgJSON:
		return scalar.AppendCompact(dst, v)
	default:
		if !change.ValidText(v) {
			return dst, scalar.ErrNotUTF8
		}
		return change.AppendString(dst, v), nil
	}
}

// appendTime turns 2026-04-07 01:23:45.123456[+00] into the one form. PostgreSQL already drops zeros at the
// fraction's end. Infinity and years before Christ stay as PostgreSQL writes them.
func appendTime(dst, v []byte, suffix string) []byte {
	v = bytes.TrimSuffix(v, []byte("+00"))
	at := bytes.IndexByte(v, ' ')
	if at < 0 || bytes.HasSuffix(v, []byte("BC")) {
		return change.AppendQuoted(dst, v)
	}
	dst = append(append(dst, '"'), v[:at]...)
	dst = append(append(dst, 'T'), v[at+1:]...)
	return append(append(dst, suffix...), '"')
}

// appendTimeTZ writes the offset with its minutes: +02 becomes +02:00.
func appendTimeTZ(dst, v []byte) []byte {
	dst = append(append(dst, '"'), v...)
	if i := bytes.LastIndexAny(v, "+-"); i >= 0 && len(v)-i == 3 {
		dst = append(dst, ":00"...)
	}
	return append(dst, '"')
}

func appendFloat(dst, v []byte, bits int) ([]byte, error) {
	f, err := strconv.ParseFloat(string(v), bits)
	if err != nil {
		return dst, fmt.Errorf("read the float: %w", err)
	}
	return change.AppendFloat(dst, f, bits), nil
}

func (r *sqlRow) appendBytea(dst, v []byte) ([]byte, error) {
	if !bytes.HasPrefix(v, []byte(`\x`)) {
		return dst, errors.New("its bytes are not in the hex form: bytea_output was changed for this connection")
	}
	v = v[2:]
	if n := hex.DecodedLen(len(v)); cap(r.scratch) < n {
		r.scratch = make([]byte, n)
	}
	n, err := hex.Decode(r.scratch[:cap(r.scratch)], v)
	if err != nil {
		return dst, fmt.Errorf("read the bytes: %w", err)
	}
	return change.AppendBinary(dst, r.scratch[:n]), nil
}

// Arg is the value's text: the statement casts it to the column's type.
func (Dialect) Arg(col *engine.Column, stored []byte) (any, error) {
	text, err := scalar.Text(stored)
	if err != nil {
		return nil, err
	}
	if err := checkScalar(col.Value.Kind, text); err != nil {
		return nil, err
	}
	if col.Value.Kind == engine.KindBinary {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("it is not base64: %w", err)
		}
		return `\x` + hex.EncodeToString(data), nil
	}
	return text, nil
}

// checkScalar reports a text that cannot be a value of the kind, before the database does so less clearly.
func checkScalar(k engine.Kind, text string) error {
	ok := true
	switch {
	case k == engine.KindInteger:
		ok = scalar.IsDecimal(text, false)
	case k == engine.KindDecimal:
		ok = scalar.IsDecimal(text, true) || strings.EqualFold(text, "NaN") || strings.HasSuffix(text, "Infinity")
	case k == engine.KindBool:
		ok = text == "true" || text == "false"
	case k.IsTime():
		ok = text != "" && (strings.HasSuffix(text, "infinity") || strings.HasSuffix(text, "BC") ||
			(text[0] >= '0' && text[0] <= '9'))
	}
	if !ok {
		return fmt.Errorf("%q is no value of that type", text)
	}
	return nil
}

// texts writes arguments in the text format: the server knows their types from the statement.
func texts(args []any) ([][]byte, error) {
	values := make([][]byte, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
		case string:
			values[i] = []byte(v)
		case bool:
			values[i] = strconv.AppendBool(nil, v)
		case int, int64, uint32, uint64:
			values[i] = fmt.Append(nil, v)
		default:
			return nil, fmt.Errorf("an argument is a %T, which has no text form here", arg)
		}
	}
	return values, nil
}

// textValue turns a text into what database/sql scans; it makes numbers and booleans of texts by itself.
func textValue(v []byte, oid uint32) (driver.Value, error) {
	switch {
	case v == nil:
		return nil, nil //nolint:nilnil // NULL
	case oid == pgtype.TimestamptzOID:
		t, err := time.Parse("2006-01-02 15:04:05.999999999-07", string(v))
		if err != nil {
			return nil, fmt.Errorf("read a time: %w", err)
		}
		return t, nil
	}
	return string(v), nil
}
