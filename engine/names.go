package engine

import (
	"errors"
	"fmt"
	"strings"
)

// SplitName takes a table's name apart, as settings write it: one to three parts divided by dots, each plain or quoted
// as "a", [a] or `a` with the closing quote doubled inside. A plain part may hold anything but dots and quotes; blanks
// around parts do not count.
func SplitName(text string) ([]string, error) {
	var parts []string
	rest := strings.TrimSpace(text)
	for {
		part, after, err := cutPart(rest)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if after == "" {
			break
		}
		rest = strings.TrimLeft(after[1:], " ")
	}
	if len(parts) > 3 {
		return nil, fmt.Errorf("it has %d parts; at most database.schema.table is understood (quote a name that has dots in it)", len(parts))
	}
	return parts, nil
}

// cutPart returns the first part of a name and the rest, which is empty or begins with a dot.
func cutPart(s string) (part, rest string, err error) {
	if s == "" {
		return "", "", errors.New("a part of it is empty")
	}
	closing, quoted := map[byte]byte{'"': '"', '[': ']', '`': '`'}[s[0]]
	if !quoted {
		part, _, _ = strings.Cut(s, ".")
		rest = s[len(part):]
		part = strings.TrimSpace(part)
		if part == "" || strings.ContainsAny(part, "\"[]`") {
			return "", "", errors.New("a part of it is empty or quoted only in places")
		}
		return part, rest, nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != closing {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == closing {
			b.WriteByte(closing)
			i++
			continue
		}
		rest = strings.TrimLeft(s[i+1:], " ")
		if b.Len() == 0 || (rest != "" && rest[0] != '.') {
			return "", "", errors.New("a quoted part of it is empty, or followed by something other than a dot")
		}
		return b.String(), rest, nil
	}
	return "", "", errors.New("a quoted part of it is not closed")
}

// Fill puts name in place of every %s of a pattern, and % in place of %%; the empty pattern is the name itself.
func Fill(pattern, name string) string {
	if pattern == "" {
		return name
	}
	return strings.NewReplacer("%%", "%", "%s", name).Replace(pattern)
}

// Literal is text as a pattern of Fill holds it: a name that somebody gave may contain %s.
func Literal(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// QuotedName writes the parts of a name as they stand in a statement; "" for none.
func QuotedName(parts []string, quote func(string) string) string {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = quote(part)
	}
	return strings.Join(quoted, ".")
}

// Names writes columns one after the other, each after what qualifies it.
func Names(quote func(string) string, qualifier string, columns []string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = qualifier + quote(c)
	}
	return strings.Join(quoted, ", ")
}
