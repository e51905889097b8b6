package sqlserver

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Read implements engine.Dialect.
func (Dialect) Read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []engine.Column,
	each func(engine.Row) (bool, error)) error {
	r := &sqlRow{cols: cols, values: make([]any, len(cols))}
	into := make([]any, len(cols))
	for i := range into {
		into[i] = &r.values[i]
	}
	return statement.Rows(ctx, conn, text, args, func(scan func(...any) error) (bool, error) {
		if err := scan(into...); err != nil {
			return false, fmt.Errorf("%w: %w", engine.ErrSchemaChanged, err)
		}
		return each(r)
	})
}

// sqlRow is a row as go-mssqldb returns it.
type sqlRow struct {
	cols   []engine.Column
	values []any
}

func (r *sqlRow) AppendJSON(dst []byte, i int) ([]byte, error) {
	code := r.cols[i].Value.Code & 0xff
	switch v := r.values[i].(type) {
	case nil:
		return change.AppendNull(dst), nil
	case bool:
		if code == msBool {
			return change.AppendBool(dst, v), nil
		}
	case int64:
		if code == msInt {
			return change.AppendInt(dst, v), nil
		}
	case float64:
		switch code {
		case msFloat:
			return change.AppendFloat(dst, v, 64), nil
		case msReal:
			return change.AppendFloat(dst, v, 32), nil
		}
	case string:
		switch {
		case code == msText && !utf8.ValidString(v):
			return dst, scalar.ErrNotUTF8
		case code == msText:
			return change.AppendString(dst, v), nil
		case code == msJSON:
			return scalar.AppendCompact(dst, []byte(v))
		}
	case []byte:
		if out, ok := appendBytes(dst, code, v); ok {
			return out, nil
		}
	case time.Time:
		if out, ok := appendTime(dst, code, v); ok {
			return out, nil
		}
	}
	return dst, fmt.Errorf("%w: it arrived as %T", engine.ErrSchemaChanged, r.values[i])
}

func appendBytes(dst []byte, code int, v []byte) ([]byte, bool) {
	switch {
	case code == msDecimal:
		return change.AppendQuoted(dst, v), true
	case code == msBinary, code == msRowVersion && len(v) == 8:
		return change.AppendBinary(dst, v), true
	case code == msUUID && len(v) == 16:
		return appendUUID(dst, v), true
	}
	return dst, false
}

// appendUUID writes a uniqueidentifier in its standard form: SQL Server keeps the first three groups in little-endian
// order.
func appendUUID(dst, v []byte) []byte {
	var out [36]byte
	hex.Encode(out[:8], []byte{v[3], v[2], v[1], v[0]})
	hex.Encode(out[9:13], []byte{v[5], v[4]})
	hex.Encode(out[14:18], []byte{v[7], v[6]})
	hex.Encode(out[19:23], v[8:10])
	hex.Encode(out[24:], v[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return change.AppendQuoted(dst, out[:])
}

func appendTime(dst []byte, code int, v time.Time) ([]byte, bool) {
	switch code {
	case msDate:
		return change.AppendDate(dst, v), true
	case msTime:
		return change.AppendTimeOfDay(dst, v), true
	case msDateTime2, msSmall:
		return change.AppendDateTime(dst, v), true
	case msDateTime:
		return change.AppendDateTime(dst, tickTime(v)), true
	case msOffset:
		return change.AppendOffsetTime(dst, v), true
	}
	return dst, false
}

// tickTime is a legacy datetime in the milliseconds that SQL Server prints for its tick of 1/300 s (…0, …3, …7),
// whichever fraction the driver made of the tick.
func tickTime(v time.Time) time.Time {
	ticks := int64(math.Round(float64(v.Nanosecond()) * 3 / 1e7))
	ms := ticks/3*10 + [3]int64{0, 3, 7}[ticks%3]
	return v.Add(time.Duration(ms)*time.Millisecond - time.Duration(v.Nanosecond()))
}

// Arg gives every parameter as text of a fixed form, or as what cannot lose anything on the way: one declaration per
// column means one plan on the server.
func (Dialect) Arg(col *engine.Column, stored []byte) (any, error) {
	scale := col.Value.Code >> 8
	switch col.Value.Code & 0xff {
	case msBool:
		switch string(stored) {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, errors.New("expected true or false")
	case msInt:
		return scalar.Int(stored)
	case msDecimal:
		s, err := scalar.Decimal(stored, scale)
		return mssql.NVarCharMax(s), err
	case msText:
		s, err := scalar.Text(stored)
		return mssql.NVarCharMax(s), err
	case msUUID:
		s, err := scalar.Text(stored)
		if s = strings.ToLower(s); err != nil || !isUUID(s) {
			return nil, errors.New("expected a uuid, as in 6f9619ff-8b86-d011-b42d-00c04fc964ff")
		}
		return s, nil
	case msRowVersion:
		return rowVersionArg(stored)
	case msBinary:
		return scalar.Binary(stored)
	default:
		return timeArg(col.Value.Code&0xff, scale, stored)
	}
}

// timeArg writes times in the ISO 8601 forms that every type reads alike, whatever the login's language is, and
// cuts them to the column's precision.
func timeArg(code, scale int, stored []byte) (any, error) {
	if code == msTime {
		s, err := scalar.Text(stored)
		if err != nil {
			return nil, err
		}
		m, err := scalar.ParseClock(s)
		if err != nil || m.Offset != "" {
			return nil, errors.New("expected a time of day, as in 01:23:45.123")
		}
		return strings.TrimPrefix(m.Join("T", scale), "T"), nil
	}
	m, err := scalar.ParseMoment(stored)
	if err != nil {
		return nil, err
	}
	switch {
	case code == msOffset && m.Offset == "Z":
		return m.Join("T", scale) + "+00:00", nil
	case code == msOffset && m.Offset != "":
		return m.Join("T", scale) + m.Offset, nil
	case code == msOffset:
		return nil, errors.New("expected an offset or Z after the time, as in 2026-04-07T01:23:45+02:00")
	case m.Offset != "":
		return nil, errors.New("expected a time without a zone: the column has none")
	}
	switch code {
	case msDate:
		return m.Date, nil
	case msDateTime2:
		return m.Join("T", scale), nil
	case msDateTime:
		ms := []byte(m.Join("T", 3))
		last := &ms[len(ms)-1]
		*last = "0003333777"[*last-'0'] // down to the tick
		return string(ms), nil
	case msSmall:
		return m.Date + "T" + m.Clock[:5] + ":00", nil
	}
	return nil, errors.New("the column cannot be compared")
}

func isUUID(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
		strings.Trim(s, "0123456789abcdef-") == "" && strings.Count(s, "-") == 4
}

// rowVersionArg reads eight bytes in base64, or as SQL Server shows them: 0x00000000000007D1.
func rowVersionArg(stored []byte) (any, error) {
	s, err := scalar.Text(stored)
	if err == nil {
		var b []byte
		if digits, found := strings.CutPrefix(strings.ToLower(s), "0x"); found {
			b, err = hex.DecodeString(digits)
		} else {
			b, err = base64.StdEncoding.DecodeString(s)
		}
		if err == nil && len(b) == 8 {
			return b, nil
		}
	}
	return nil, errors.New("expected a rowversion: 8 bytes in base64, or as 0x00000000000007D1")
}

// watermarkSQL reads MIN_ACTIVE_ROWVERSION() into a variable before the page, and hands it out with the last rowversion
// given (@@DBTS), and whether the database can be written.
const watermarkSQL = `DECLARE @safe binary(8) = MIN_ACTIVE_ROWVERSION();
SET @watermark = CAST(CAST(@safe AS bigint) AS nvarchar(20)) ` +
	`+ N' ' + CAST(CAST(@@DBTS AS bigint) AS nvarchar(20)) + N' '
	+ CONVERT(nvarchar(60), DATABASEPROPERTYEX(DB_NAME(), N'Updateability'));
`
