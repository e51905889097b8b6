// Package plaintext makes text that others wrote (a database, a broker, a browser) fit for a line of ours: in a log, a
// document, a comment or on a terminal.
package plaintext

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line joins the words of s by single spaces and leaves out what is not seen: control characters, and marks that turn
// the direction of what follows. Invalid UTF-8 becomes the replacement character.
func Line(s string) string {
	seen := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(seen), " ")
}

// Error is an error on one line: a driver may say the failure of each address on a line of its own.
func Error(err error) error {
	if err == nil || !strings.ContainsAny(err.Error(), "\r\n") {
		return err
	}
	return &lineError{err}
}

type lineError struct{ err error }

func (e *lineError) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e *lineError) Unwrap() error { return e.err }

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

// Storable is a text that every database takes: valid UTF-8 without NUL.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// ShellWord is a text as one word of a POSIX shell, in which nothing is expanded or run.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9._:@/+-]+$`)
