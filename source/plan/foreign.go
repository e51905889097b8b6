package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// Foreign makes a position of what azure-functions-db stores of one: the value of the cursor, then those of the key.
func (p *Plan) Foreign(parts []json.RawMessage, keys []string) (change.Cursor, error) {
	columns := keyset.Pick(p.Sel.Columns, p.Key)
	names := keyset.ColumnNames(columns)
	key := strings.Join(names, ",")
	switch {
	case p.ByWindows():
		return nil, fmt.Errorf("source__late_commits=exact reads %q by snapshots, where a row is no position: "+
			"set source__late_commits=overlap, or begin with source__start", p.Sel.Order[0].Name)
	case p.Sel.Cursors != 1:
		return nil, fmt.Errorf("source__cursor names %d columns, and azure-functions-db has one cursor_column: "+
			"name that one", p.Sel.Cursors)
	case len(parts) == 0:
		return nil, errors.New("its cursor is an empty list: begin with source__start instead")
	case len(parts) != 1+len(names):
		return nil, fmt.Errorf("it has a cursor with %d key value(s), and source__key names %d (%s): "+
			"name the columns of pk_columns, in that order", len(parts)-1, len(names), key)
	case len(names) > 1 && len(keys) == 0:
		return nil, fmt.Errorf("which key value is of which column it does not say: "+
			"add --key with pk_columns as the old function has them, as in --key %s", key)
	case len(keys) > 0 && !strings.EqualFold(strings.Join(keys, ","), key):
		given := strings.Join(keys, ",")
		return nil, fmt.Errorf("pk_columns are (%s) and source__key is (%s): rows of one cursor value come in another order; "+
			"set source__key=%s", given, key, given)
	}
	value, err := p.foreignScalar(&p.Sel.Order[0], parts[0])
	if err != nil {
		return nil, err
	}
	object := []byte{'{'}
	for n := range columns {
		stored, err := p.foreignScalar(&columns[n], parts[n+1])
		if err != nil {
			return nil, err
		}
		if n > 0 {
			object = append(object, ',')
		}
		object = append(append(object, p.KeyNames[n]...), stored...)
	}
	return p.AppendCursor(nil, [][]byte{value}, append(object, '}')), nil
}

// foreignScalar writes a value of Python's as a row's own would be written.
func (p *Plan) foreignScalar(col *engine.Column, raw json.RawMessage) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	var stored []byte
	if err == nil {
		stored, err = p.pythonScalar(col, v)
	}
	if err == nil {
		_, err = p.Dialect.Arg(col, stored)
	}
	if err != nil {
		return nil, fmt.Errorf("it has %s for column %q of type %s: %w; begin with source__start instead", raw, col.Name,
			col.Type, err)
	}
	return stored, nil
}

func (p *Plan) pythonScalar(col *engine.Column, v any) ([]byte, error) {
	text, isText := v.(string)
	number, isNumber := v.(json.Number)
	flag, isFlag := v.(bool)
	if isNumber {
		text = number.String()
	}
	switch k := col.Value.Kind; {
	case k == engine.KindInteger && isFlag && flag:
		return []byte("1"), nil
	case k == engine.KindInteger && isFlag:
		return []byte("0"), nil
	case k == engine.KindInteger && scalar.IsDecimal(text, false):
		return change.AppendIntegerText(nil, text), nil
	case k == engine.KindDecimal && (isText || isNumber):
		return p.pythonDecimal(text)
	case k == engine.KindBool && isFlag:
		return strconv.AppendBool(nil, flag), nil
	case k == engine.KindUUID && isText && !p.StoredTimes:
		return change.AppendString(nil, strings.ToLower(text)), nil
	case (k == engine.KindText || k == engine.KindUUID) && isText:
		return change.AppendString(nil, text), nil
	case k.IsTime() && p.StoredTimes && isNumber:
		return raw(number), nil
	case k.IsTime() && isText:
		return p.pythonTime(col, change.AppendString(nil, text))
	}
	return nil, errors.New("that is no value of the column")
}

// raw is a JSON number as it stands; an integer beyond 2^53 is a string.
func raw(n json.Number) []byte {
	if scalar.IsDecimal(n.String(), false) {
		return change.AppendIntegerText(nil, n.String())
	}
	return []byte(n.String())
}

// pythonDecimal writes a Decimal, which Python writes with an exponent where it is small (0E-10), without one.
func (p *Plan) pythonDecimal(text string) ([]byte, error) {
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errors.New("that is no number")
	}
	if p.StoredTimes { // it keeps an integer or a float
		if exact.IsInt() && exact.Num().IsInt64() {
			return change.AppendInt(nil, exact.Num().Int64()), nil
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, errors.New("that is no number that SQLite keeps")
		}
		return change.AppendFloat(nil, f, 64), nil
	}
	mantissa, exponent, _ := strings.Cut(strings.ToUpper(text), "E")
	_, fraction, _ := strings.Cut(mantissa, ".")
	digits := len(fraction)
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n < -2000 || n > 2000 {
			return nil, errors.New("that is no number")
		}
		digits -= n
	}
	return change.AppendString(nil, exact.FloatString(max(0, digits))), nil
}

// pythonTime writes a datetime's isoformat. The wall clock of a column without a zone stays as it is.
func (p *Plan) pythonTime(col *engine.Column, quoted []byte) ([]byte, error) {
	if p.StoredTimes {
		if _, ok := timeform.Parse(quoted, time.UTC); !ok {
			return nil, ErrNoForm
		}
		return quoted, nil
	}
	_, zone, _ := timeform.Split(quoted)
	switch k := col.Value.Kind; {
	case k == engine.KindDateTime && !col.Value.Zoned && len(zone) > 0:
		return nil, errors.New("that has a zone, and the column has none")
	case (k == engine.KindInstant || k == engine.KindOffsetTime || col.Value.Zoned) && len(zone) == 0:
		return nil, errors.New("that has no zone, and the column means an instant: which, only the session of the old function knew")
	}
	return startTime(col, quoted, time.UTC)
}
