package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// member is one member of a JSON object with the bytes that it was written with.
type member struct {
	name    string
	rawName []byte // quoted, as it stood
	raw     json.RawMessage
}

// splitObject returns the members of one JSON object in order. data is known to be JSON, and the members are parts of
// it. encoding/json's own way into a struct would match names without regard to case, take the last of two equal ones,
// and forget those it does not know.
func splitObject(data []byte) ([]member, error) {
	rest := skipSpace(data)
	if rest[0] != '{' {
		return nil, errors.New("not an object")
	}
	all := make([]member, 0, 12) // most have fewer
	for rest = skipSpace(rest[1:]); rest[0] != '}'; {
		var m member
		var err error
		m.rawName, rest = cutValue(rest)
		if m.name, err = unquote(m.rawName); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other member) bool { return other.name == m.name }) {
			return nil, fmt.Errorf("member %q stands there twice", m.name)
		}
		m.raw, rest = cutValue(skipSpace(rest[1:]))
		all = append(all, m)
		if rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return all, nil
}

// cutValue cuts the name or value at the beginning of an object's inside from what follows it.
func cutValue(data []byte) (value, rest []byte) {
	i := 0
	for depth := 0; depth > 0 || strings.IndexByte(" \t\r\n,:}]", data[i]) < 0; i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return data[:i:i], skipSpace(data[i:])
}

func skipSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }

// unquote reads a string. json.Unmarshal reads those with escapes, and has the error for what is none.
func unquote(raw []byte) (s string, err error) {
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

// splitArray returns the elements of one JSON array.
func splitArray(data []byte) ([]json.RawMessage, error) {
	if len(data) == 0 || data[0] != '[' {
		return nil, errors.New("not an array")
	}
	var all []json.RawMessage
	err := json.Unmarshal(data, &all)
	return all, err
}

// objectWriter writes nested JSON objects, one member on a line, for people who open the file. Raw values are copied
// byte for byte: encoding/json would rewrite '<' in a cursor as \u003c.
type objectWriter struct {
	b     []byte
	depth int
	some  bool // the current object has a member already
}

func (w *objectWriter) open(name string) {
	if w.depth > 0 {
		w.name(quote(name))
	}
	w.b = append(w.b, '{')
	w.depth++
	w.some = false
}

func (w *objectWriter) close() {
	w.depth--
	if w.some {
		w.newline()
	}
	w.b = append(w.b, '}')
	w.some = true
}

func (w *objectWriter) raw(name string, value []byte) {
	w.name(quote(name))
	w.b = append(w.b, value...)
}

func (w *objectWriter) string(name, value string) { w.raw(name, quote(value)) }

func (w *objectWriter) rest(members []member) {
	for _, m := range members {
		w.name(m.rawName)
		w.b = append(w.b, m.raw...)
	}
}

func (w *objectWriter) name(quoted []byte) {
	if w.some {
		w.b = append(w.b, ',')
	}
	w.newline()
	w.b = append(w.b, quoted...)
	w.b = append(w.b, ": "...)
	w.some = true
}

func (w *objectWriter) newline() {
	w.b = append(w.b, '\n')
	for range w.depth {
		w.b = append(w.b, "  "...)
	}
}

// quote returns s as a JSON string. Marshalling a string cannot fail.
func quote(s string) []byte {
	quoted, _ := json.Marshal(s)
	return quoted
}
