package change

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// The one rule for values, for all engines (docs/values.md lists it by type):
//
//	NULL                    null
//	boolean                 true, false
//	integer                 a number within ±(2^53−1), beyond it a string of digits
//	decimal, money          a string of digits, as the database prints it
//	float                   the shortest number that reads back as the same float; "NaN", "Infinity", "-Infinity"
//	text, uuid, enum        a string
//	binary                  a string in standard base64 with padding
//	date                    "2026-04-07"
//	time                    "01:23:45.123", zeros at the end of the fraction removed
//	timestamp, no zone      "2026-04-07T01:23:45.123456", up to 100 ns; zoneless, as stored
//	timestamp, instant      "2026-04-07T01:23:45.123456Z", in UTC
//	timestamp, with offset  "2026-04-07T03:23:45.1234567+02:00", the offset as stored
//	json                    as it is, white space removed
//
// A type without a lossless form is refused by the source, with the CAST to write.

// MaxSafeInteger is 2^53−1: the largest integer that every JSON reader holds exactly.
const MaxSafeInteger = 1<<53 - 1

// Layouts of times; the fraction's trailing zeros are removed.
const (
	layoutDate     = "2006-01-02"
	layoutTime     = "15:04:05.999999999"
	layoutDateTime = "2006-01-02T15:04:05.999999999"
	layoutOffset   = "2006-01-02T15:04:05.999999999Z07:00"
)

// AppendNull appends null.
func AppendNull(dst []byte) []byte { return append(dst, "null"...) }

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// AppendInt appends an integer: a number where JSON readers hold it exactly, else a string of digits.
func AppendInt(dst []byte, v int64) []byte {
	if v > MaxSafeInteger || v < -MaxSafeInteger {
		dst = append(dst, '"')
		dst = strconv.AppendInt(dst, v, 10)
		return append(dst, '"')
	}
	return strconv.AppendInt(dst, v, 10)
}

// AppendUint appends an unsigned integer by the rule of AppendInt.
func AppendUint(dst []byte, v uint64) []byte {
	if v > MaxSafeInteger {
		dst = append(dst, '"')
		dst = strconv.AppendUint(dst, v, 10)
		return append(dst, '"')
	}
	return strconv.AppendUint(dst, v, 10)
}

// AppendIntegerText appends an integer that the driver gave as its digits, by the rule of AppendInt.
func AppendIntegerText[T []byte | string](dst []byte, digits T) []byte {
	// 15 digits are always below 2^53: the common case needs no parsing.
	if len(digits) <= 15 {
		return append(dst, digits...)
	}
	if v, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
		return AppendInt(dst, v)
	}
	dst = append(dst, '"')
	dst = append(dst, digits...)
	return append(dst, '"')
}

// AppendFloat appends the shortest number that reads back as the same float of bits (32 or 64) bits; what JSON has no
// number for becomes "NaN", "Infinity" or "-Infinity".
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

// AppendQuoted appends text that needs no escaping (digits, a formatted time) as a string.
func AppendQuoted[T []byte | string](dst []byte, plain T) []byte {
	dst = append(dst, '"')
	dst = append(dst, plain...)
	return append(dst, '"')
}

// AppendBinary appends bytes as a base64 string.
func AppendBinary(dst, v []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, v)
	return append(dst, '"')
}

// AppendDate appends the date of t, in t's own zone.
func AppendDate(dst []byte, t time.Time) []byte { return appendTime(dst, t, layoutDate) }

// AppendTimeOfDay appends the time of day of t, in t's own zone.
func AppendTimeOfDay(dst []byte, t time.Time) []byte { return appendTime(dst, t, layoutTime) }

// AppendDateTime appends the wall clock of t without a zone.
func AppendDateTime(dst []byte, t time.Time) []byte { return appendTime(dst, t, layoutDateTime) }

// AppendInstant appends t in UTC.
func AppendInstant(dst []byte, t time.Time) []byte { return appendTime(dst, t.UTC(), layoutOffset) }

// AppendOffsetTime appends t with its own offset.
func AppendOffsetTime(dst []byte, t time.Time) []byte { return appendTime(dst, t, layoutOffset) }

func appendTime(dst []byte, t time.Time, layout string) []byte {
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, layout)
	return append(dst, '"')
}

const hexDigits = "0123456789abcdef"

// AppendString appends text as a JSON string. Text that is not valid UTF-8 has no lossless form: the caller must have
// checked it where the database does not (see ValidText); here such bytes would become U+FFFD.
func AppendString[T []byte | string](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := decodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, `\ufffd`...)
				i++
				start = i
				continue
			}
			i += size
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// decodeRune decodes the first rune of at most four bytes without copying the rest of s.
func decodeRune[T []byte | string](s T) (rune, int) {
	var b [utf8.UTFMax]byte
	return utf8.DecodeRune(b[:copy(b[:], s)])
}

// ValidText reports whether s has a lossless form as a JSON string.
func ValidText[T []byte | string](s T) bool { return utf8.ValidString(string(s)) }
