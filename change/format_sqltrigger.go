package change

import (
	"bytes"
	"iter"
	"strconv"
)

// longer is by how much a form may be longer than the plain one.
const longer = len("T00:00:00")

// appendSQLTrigger writes Operation 1 (update) for an upsert: a cursor cannot tell an insert from an update, and a
// receiver of the SQL trigger must treat an update of an unknown key as an insert anyway. A delete carries the key
// only, as the SQL trigger's does.
func appendSQLTrigger(dst []byte, e *Event) []byte {
	operation := byte('1')
	switch e.Op {
	case Insert:
		operation = '0'
	case Delete:
		var members []Member
		if e.Shape != nil {
			members = e.Shape.Key
		}
		return append(appendShaped(append(dst, `{"Operation":2,"Item":`...), e.Key, members), '}')
	}
	dst = append(append(append(dst, `{"Operation":`...), operation), `,"Item":`...)
	return append(e.AppendTriggerRow(dst), '}')
}

// AppendTriggerRow appends the row as the format of the SQL trigger writes it.
func (e *Event) AppendTriggerRow(dst []byte) []byte {
	if e.Shape == nil {
		return appendRaw(dst, e.Row)
	}
	return appendShaped(dst, e.Row, e.Shape.Row)
}

// sqlTriggerBound is an upper bound of appendSQLTrigger.
func sqlTriggerBound(e *Event) int {
	n := len(`{"Operation":1,"Item":}`) + max(len(e.Row), len(e.Key), len(jsonNull))
	if e.Shape != nil {
		n += longer * len(e.Shape.Row)
	}
	return n
}

// appendShaped copies an object with its members' values in their forms. What is no such object is copied as it is.
func appendShaped(dst, object []byte, members []Member) []byte {
	rest := object
	for i := range members {
		m := &members[i]
		if len(rest) <= 1+len(m.Name) || string(rest[1:1+len(m.Name)]) != m.Name {
			break
		}
		dst = append(dst, rest[:1+len(m.Name)]...)
		rest = rest[1+len(m.Name):]
		n := valueLength(rest)
		dst = appendForm(dst, rest[:n], m.Form)
		rest = rest[n:]
	}
	if len(object) == 0 {
		return append(dst, jsonNull...)
	}
	return append(dst, rest...)
}

// Members returns the members of a compact JSON object in their order: each name as JSON, and its value. What is no
// object has none.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if len(object) < 2 || object[0] != '{' {
			return
		}
		for rest := object[1:]; len(rest) > 1; {
			end := nameLength(rest)
			value := rest[end+1:]
			n := valueLength(value)
			if !yield(rest[:end], value[:n]) || n == len(value) {
				return
			}
			rest = value[n+1:] // after the comma, or the brace
		}
	}
}

// nameLength is the length of the JSON string that text begins with, which a colon follows.
func nameLength(text []byte) int {
	for i := 1; i < len(text)-1; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text) - 1
}

// valueLength is the length of the JSON value that text begins with.
func valueLength(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}'):
			return i
		case c == '}', c == ']':
			depth--
		}
	}
	return len(text)
}

// appendForm writes a value in a form. One that has not this form (null, NaN, a year before Christ) stays as it is.
func appendForm(dst, value []byte, form Form) []byte {
	text := bytes.Trim(value, `"`)
	switch {
	case form == Plain || len(text) == 0:
	case form == Integer && isNumber(text):
		return append(dst, text...)
	case form == Decimal && isNumber(text):
		return appendPoint(append(dst, text...), text)
	case form == Float && isNumber(text):
		return appendFloatForm(dst, text)
	case form == Date && len(text) == len(layoutDate):
		return append(append(append(dst, '"'), text...), `T00:00:00"`...)
	case form == Clock && len(text) < len("00:00:00.0000000"):
		if at := bytes.IndexByte(text, '.'); at == len("00:00:00") {
			dst = append(append(dst, '"'), text...)
			for n := len(text) - at - 1; n < 7; n++ {
				dst = append(dst, '0')
			}
			return append(dst, '"')
		}
	}
	return append(dst, value...)
}

// isNumber reports whether a text is a number in JSON, of those that values have.
func isNumber(text []byte) bool {
	last := text[len(text)-1]
	return last >= '0' && last <= '9' && (text[0] == '-' || text[0] >= '0' && text[0] <= '9')
}

// appendPoint ends a number that was just appended with .0, where it has no point.
func appendPoint(dst, number []byte) []byte {
	if bytes.IndexByte(number, '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendFloatForm writes a float as .NET does: an exponent from 15 digits before the point on, and below 0.0001.
func appendFloatForm(dst, text []byte) []byte {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return append(dst, text...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'E', -1, 64)
	at := start + bytes.IndexByte(dst[start:], 'E')
	if exponent, err := strconv.Atoi(string(dst[at+1:])); err == nil && exponent > -5 && exponent < 15 {
		dst = strconv.AppendFloat(dst[:start], v, 'f', -1, 64)
		dst = appendPoint(dst, dst[start:])
	}
	return dst
}
