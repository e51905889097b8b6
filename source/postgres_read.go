package source

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrelay/rowrelay/change"
)

// read runs a statement below database/sql, with every column in the text format: the values are the wire's bytes,
// neither parsed nor boxed.
func (postgres) read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []column, each func(row) (bool, error)) error {
	return conn.Raw(func(raw any) error {
		s, err := postgresSessionOf(raw)
		if err != nil {
			return err
		}
		r := &postgresRow{cols: cols}
		return s.query(ctx, text, args, func(fields []pgconn.FieldDescription) error {
			s.table = 0
			for i, f := range fields {
				s.table = max(s.table, f.TableOID)
				if want := uint32(cols[i].value.code >> 8); cols[i].value.expr == "" && want != f.DataTypeOID { //nolint:gosec // an oid
					return fmt.Errorf("%w: column %q", errSchemaChanged, cols[i].name)
				}
			}
			return nil
		}, func(values [][]byte) (bool, error) {
			r.values = values
			return each(r)
		})
	})
}

// postgresRow is a row in the text format.
type postgresRow struct {
	cols    []column
	values  [][]byte
	scratch []byte
}

var errNotUTF8 = errors.New("its text is not valid UTF-8, which JSON cannot hold")

func (r *postgresRow) appendJSON(dst []byte, i int) ([]byte, error) {
	v := r.values[i]
	if v == nil {
		return change.AppendNull(dst), nil
	}
	switch r.cols[i].value.code & 0xff {
	case pgBool:
		return change.AppendBool(dst, v[0] == 't'), nil
	case pgInteger:
		return change.AppendIntegerText(dst, v), nil
	case pgQuoted:
		return change.AppendQuoted(dst, v), nil
	case pgTimestamp:
		return appendPostgresTime(dst, v, ""), nil
	case pgInstant:
		return appendPostgresTime(dst, v, "Z"), nil
	case pgTimeTZ:
		return appendPostgresTimeTZ(dst, v), nil
	case pgFloat4:
		return appendPostgresFloat(dst, v, 32)
	case pgFloat8:
		return appendPostgresFloat(dst, v, 64)
	case pgBytea:
		return r.appendBytea(dst, v)
	case pgJSON:
		return appendCompact(dst, v)
	default:
		if !change.ValidText(v) {
			return dst, errNotUTF8
		}
		return change.AppendString(dst, v), nil
	}
}

// appendPostgresTime turns 2026-04-07 01:23:45.123456[+00] into the one form. PostgreSQL already drops zeros at the
// fraction's end. Infinity and years before Christ stay as PostgreSQL writes them.
func appendPostgresTime(dst, v []byte, suffix string) []byte {
	v = bytes.TrimSuffix(v, []byte("+00"))
	at := bytes.IndexByte(v, ' ')
	if at < 0 || bytes.HasSuffix(v, []byte("BC")) {
		return change.AppendQuoted(dst, v)
	}
	dst = append(append(dst, '"'), v[:at]...)
	dst = append(append(dst, 'T'), v[at+1:]...)
	return append(append(dst, suffix...), '"')
}

// appendPostgresTimeTZ writes the offset with its minutes: +02 becomes +02:00.
func appendPostgresTimeTZ(dst, v []byte) []byte {
	dst = append(append(dst, '"'), v...)
	if i := bytes.LastIndexAny(v, "+-"); i >= 0 && len(v)-i == 3 {
		dst = append(dst, ":00"...)
	}
	return append(dst, '"')
}

func appendPostgresFloat(dst, v []byte, bits int) ([]byte, error) {
	f, err := strconv.ParseFloat(string(v), bits)
	if err != nil {
		return dst, fmt.Errorf("read the float: %w", err)
	}
	return change.AppendFloat(dst, f, bits), nil
}

func (r *postgresRow) appendBytea(dst, v []byte) ([]byte, error) {
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

// appendCompact appends JSON without the white space between its tokens. The database vouches for it being JSON.
func appendCompact(dst, v []byte) ([]byte, error) {
	if !change.ValidText(v) {
		return dst, errNotUTF8
	}
	start := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			for i++; i < len(v) && v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
		case ' ', '\t', '\n', '\r':
			dst = append(dst, v[start:i]...)
			start = i + 1
		}
	}
	return append(dst, v[start:]...), nil
}

// arg is the value's text: the statement casts it to the column's type.
func (postgres) arg(col *column, scalar []byte) (any, error) {
	text, err := scalarText(scalar)
	if err != nil {
		return nil, err
	}
	if err := checkScalar(col.value.kind, text); err != nil {
		return nil, err
	}
	if col.value.kind == kindBinary {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("it is not base64: %w", err)
		}
		return `\x` + hex.EncodeToString(data), nil
	}
	return text, nil
}

// scalarText returns what a JSON scalar says: a string without its quotes, a number or boolean as it is written.
func scalarText(scalar []byte) (string, error) {
	if len(scalar) == 0 || scalar[0] == '{' || scalar[0] == '[' || string(scalar) == "null" {
		return "", errors.New("it is not a string, number or boolean")
	}
	if scalar[0] != '"' {
		return string(scalar), nil
	}
	var text string
	if err := json.Unmarshal(scalar, &text); err != nil {
		return "", fmt.Errorf("read it: %w", err)
	}
	return text, nil
}

// checkScalar reports a text that cannot be a value of the kind, before the database does so less clearly.
func checkScalar(k kind, text string) error {
	ok := true
	switch {
	case k == kindInteger:
		ok = isDecimal(text, false)
	case k == kindDecimal:
		ok = isDecimal(text, true) || strings.EqualFold(text, "NaN") || strings.HasSuffix(text, "Infinity")
	case k == kindBool:
		ok = text == "true" || text == "false"
	case k.isTime():
		ok = text != "" && (strings.HasSuffix(text, "infinity") || strings.HasSuffix(text, "BC") || (text[0] >= '0' && text[0] <= '9'))
	}
	if !ok {
		return fmt.Errorf("%q is no value of that type", text)
	}
	return nil
}
