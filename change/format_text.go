package change

import (
	"slices"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendText appends the cursor's JSON in ASCII: what is beyond it, and DEL, becomes a \u escape inside the JSON's
// strings. It is the text that stands in cloudevents, in rowchange and in the header Rowrelay-Cursor, byte for byte the
// same, so that it can be compared and be part of a key without being parsed.
func (c Cursor) AppendText(dst []byte) []byte { return appendASCII(dst, c) }

// appendCursor writes the cursor's text as a JSON string.
func appendCursor(dst []byte, c Cursor) []byte { return appendQuotedASCII(dst, c) }

// appendQuotedASCII writes JSON as a JSON string in ASCII. Every event has its cursor there, nearly all of which only
// need their double quotes escaped: that is one pass.
func appendQuotedASCII(dst, json []byte) []byte {
	begin := len(dst)
	dst = append(slices.Grow(dst, 2*len(json)+2), '"')
	for _, c := range json {
		if c < 0x20 || c >= 0x7f {
			var stack [512]byte
			return AppendString(dst[:begin], appendASCII(stack[:0], json))
		}
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

func appendASCII(dst, json []byte) []byte {
	for i := 0; i < len(json); {
		if c := json[i]; c < 0x7f {
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(json[i:])
		i += size
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			dst = appendEscape(dst, high)
			r = low
		}
		dst = appendEscape(dst, r)
	}
	return dst
}

func appendEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

const jsonNull = "null"

// appendRaw copies JSON, null where there is none.
func appendRaw(dst, json []byte) []byte {
	if len(json) == 0 {
		return append(dst, jsonNull...)
	}
	return append(dst, json...)
}

// quotedBound is an upper bound of AppendString's and appendQuotedASCII's output: a byte grows to seven (\\u007f) at
// most, and only if it is not plain.
func quotedBound[T ~[]byte | ~string](s T) int {
	n := len(s) + 2
	for i := range len(s) {
		n += int(growth[s[i]])
	}
	return n
}

// growth is by how much a byte may grow when it is quoted. A table, because every event is measured before it is sent.
var growth = func() (g [256]uint8) {
	for c := range g {
		switch {
		case c == '"' || c == '\\':
			g[c] = 1
		case c < 0x20 || c >= 0x7f:
			g[c] = 6
		}
	}
	return g
}()

// hasTime reports whether RFC 3339, which has four digits for the year, can write t.
func hasTime(t time.Time) bool {
	u := t.UTC()
	return !u.IsZero() && u.Year() >= 0 && u.Year() <= 9999
}
