// Package localsettings reads and writes the Values of a local.settings.json, where Core Tools keep the app settings of
// a Function App on a developer's machine.
package localsettings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/rowrelay/rowrelay/config"
)

// Read returns the Values of a local.settings.json as KEY=VALUE strings, as Core Tools put them in the
// environment of the worker. Comments and trailing commas are accepted, as there. The error wraps that of reading the
// file (fs.ErrNotExist where there is none), or is a [config.Faults]; it never holds a value.
func Read(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read local settings: %w", err)
	}
	list, faults := parse(path, data)
	return list, faults.Err()
}

func parse(path string, data []byte) (list []string, faults config.Faults) {
	var file contents
	plain := plainJSON(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err := json.Unmarshal(plain, &file); err != nil {
		faults.Add(path, "is not JSON with an object of Values"+jsonPlace(plain, err),
			`Write {"IsEncrypted": false, "Values": {"state__kind": "file"}}`)
		return nil, faults
	}
	if file.Values == nil && !file.functionsOwn() {
		faults.Add(path, "has no Values: settings beside it, or in a file without it, have no effect",
			`Put them below Values: {"Values": {"state__kind": "file"}}`)
		return nil, faults
	}
	if file.IsEncrypted {
		faults.Add(path, "is encrypted (IsEncrypted is true)", "Run `func settings decrypt` beside it")
		return nil, faults
	}
	for _, name := range slices.Sorted(maps.Keys(file.Values)) {
		var value *string
		if err := json.Unmarshal(file.Values[name], &value); err != nil || value == nil {
			faults.Add(path+", Values."+name, "is not a string: the Functions host takes strings only",
				"Put the value in quotes")
			continue
		}
		list = append(list, name+"="+*value)
	}
	return list, faults
}

// contents is a local.settings.json as Core Tools know it.
type contents struct {
	IsEncrypted       bool                       `json:"IsEncrypted"`
	Values            map[string]json.RawMessage `json:"Values"`
	Host              json.RawMessage            `json:"Host"`
	ConnectionStrings json.RawMessage            `json:"ConnectionStrings"`
}

// functionsOwn reports whether the file says something that only Core Tools read: such a file may lack Values.
func (f *contents) functionsOwn() bool { return f.Host != nil || f.ConnectionStrings != nil }

// jsonPlace says where a syntax error is. The error's own text is left out: it can quote a piece of a value.
func jsonPlace(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	before := data[:min(int(syntax.Offset), len(data))]
	return fmt.Sprintf(" (line %d)", 1+bytes.Count(before, []byte("\n")))
}

// plainJSON blanks // and /* */ comments and trailing commas, keeping every line break so that places stay right.
func plainJSON(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1 // the last comma with nothing but blanks and comments after it
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i, comma = stringEnd(out, i), -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// stringEnd returns the index of the quote that ends the string at i.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// blankComment blanks the comment at i and returns its last index.
func blankComment(data []byte, i int) int {
	end := len(data)
	if data[i+1] == '/' {
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			end = i + n
		}
	} else if n := bytes.Index(data[i+2:], []byte("*/")); n >= 0 {
		end = i + 2 + n + 2
	}
	for j := i; j < end; j++ {
		if data[j] != '\n' {
			data[j] = ' '
		}
	}
	return end - 1
}
