package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// member is one member of a JSON object with the bytes that it was written with.
type member struct {
	name    string
	rawName []byte // quoted, as it stood
	raw     json.RawMessage
}

// splitObject returns the members of one JSON object in order. encoding/json's own way into a struct would match names
// without regard to case, take the last of two equal ones, and forget those it does not know.
func splitObject(data []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	var all []member
	seen := map[string]bool{}
	for dec.More() {
		from := dec.InputOffset()
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("%v is not a member name", token)
		}
		if seen[name] {
			return nil, fmt.Errorf("member %q stands there twice", name)
		}
		seen[name] = true
		m := member{name: name, rawName: bytes.TrimLeft(data[from:dec.InputOffset()], " \t\r\n,{")}
		if err := dec.Decode(&m.raw); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows after its end")
	}
	return all, nil
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
