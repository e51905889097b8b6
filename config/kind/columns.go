package kind

import (
	"errors"
	"slices"
	"strings"
)

// Columns takes names separated by commas.
var Columns = Kind{Word: "column, or list of columns", Example: "updated_at", Parse: func(s string) (any, *Flaw) {
	names, err := parseList(s)
	if err != nil {
		return nil, &Flaw{err.Error(), `Write names separated by commas; quote an odd one: id, "odd, name" or [odd, name]`}
	}
	return names, nil
}}

// Column takes one name.
var Column = Kind{Word: "column", Example: "deleted_at", Parse: func(s string) (any, *Flaw) {
	names, err := parseList(s)
	if err != nil || len(names) != 1 {
		return nil, &Flaw{"is not one column", `Write one name, such as deleted_at; quote an odd one: "odd, name"`}
	}
	return names[0], nil
}}

// closers are the quotes that a name may stand in, each with the one that ends it; doubled, it stands for itself.
var closers = map[byte]byte{'"': '"', '[': ']', '`': '`'}

// parseList reads names separated by commas. Spaces around a name are dropped. A name that holds a comma, a quote or
// leading spaces stands in quotes, those of any of the engines: "odd, name", [odd, name], `odd, name`; the closing
// quote is doubled to stand for itself. A name may not be empty and not come twice.
func parseList(s string) ([]string, error) {
	var names []string
	for rest := s; ; {
		name, tail, err := nextName(strings.TrimLeft(rest, " \t\r\n"))
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, name) {
			return nil, errors.New("names one column twice")
		}
		names = append(names, name)
		if tail == "" {
			return names, nil
		}
		rest = tail[1:] // the comma
	}
}

// nextName reads one name and returns it with what follows: "" or a text that begins with a comma.
func nextName(s string) (name, tail string, err error) {
	if s == "" || s[0] == ',' {
		return "", "", errors.New("has an empty name")
	}
	end, quoted := closers[s[0]]
	if !quoted {
		name, tail = s, ""
		if i := strings.IndexByte(s, ','); i >= 0 {
			name, tail = s[:i], s[i:]
		}
		name = strings.TrimRight(name, " \t\r\n")
		if strings.ContainsAny(name, "\"[]`") {
			return "", "", errors.New("has a quote inside a name that is not quoted itself")
		}
		return name, tail, nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != end {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == end {
			b.WriteByte(end)
			i++
			continue
		}
		tail = strings.TrimLeft(s[i+1:], " \t\r\n")
		if tail != "" && tail[0] != ',' {
			return "", "", errors.New("has something other than a comma after a quoted name")
		}
		if b.Len() == 0 {
			return "", "", errors.New("has an empty name")
		}
		return b.String(), tail, nil
	}
	return "", "", errors.New("has a quote that does not end")
}
