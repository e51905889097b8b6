// Package plaintext makes text that others wrote (a database, a broker, a browser) fit for a line of ours: in a log, a document, a
// comment or on a terminal.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line joins the words of s by single spaces and leaves out what cannot be printed: line breaks, control characters, marks
// that turn the direction of what follows, invalid UTF-8.
func Line(s string) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	return strings.Join(words, " ")
}

// Cut is s in at most so many bytes, in whole characters. Where something was cut, it ends in an ellipsis.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Start(s, most-len("…")) + "…"
}

// Start is the beginning of s in at most so many bytes, in whole characters.
func Start(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
