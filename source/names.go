package source

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// splitName takes a table's name apart: parts divided by dots, each plain or quoted as "a", [a] or `a` with the closing
// quote doubled inside. A plain part may hold anything but dots and quotes; blanks around parts do not count.
func splitName(text string) ([]string, error) {
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

// findColumn finds a column by the name in a setting: as it is written, else in another case where that is unambiguous.
func findColumn(columns []column, name string) (int, error) {
	found := -1
	for i := range columns {
		if columns[i].name == name {
			return i, nil
		}
		if strings.EqualFold(columns[i].name, name) {
			if found >= 0 {
				return 0, fmt.Errorf("column %q could be %q or %q: write it exactly", name, columns[found].name, columns[i].name)
			}
			found = i
		}
	}
	if found >= 0 {
		return found, nil
	}
	return 0, fmt.Errorf("there is no column %q; there are: %s", name, listNames(columns))
}

// listNames lists the columns for a message, not endlessly.
func listNames(columns []column) string {
	var b strings.Builder
	for i, c := range columns {
		if i == 40 {
			fmt.Fprintf(&b, " and %d more", len(columns)-i)
			break
		}
		b.WriteString(comma(i) + c.name)
	}
	return b.String()
}

// columnNames returns the names of columns.
func columnNames(columns []column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names
}

// validName reports whether a name can stand in JSON and in a statement at all.
func validName(name string) bool { return utf8.ValidString(name) && !strings.ContainsRune(name, 0) }
