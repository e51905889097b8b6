package change_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rowrelay/rowrelay/change"
)

// FuzzMembers: the members of any compact object are those that encoding/json finds, and together they are the object.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":1}`, `{"a\"b":"}","c\\":[1,{"d":"]"}],"":null,"é":{"x":{}}}`, `[1]`, `"a"`,
		`{"a":1,"a":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		change.Members(data)(func(_, _ []byte) bool { return true }) // of what is no object, too
		var compact bytes.Buffer
		if json.Compact(&compact, data) != nil || compact.Bytes()[0] != '{' {
			return
		}
		object := compact.Bytes()
		d := json.NewDecoder(bytes.NewReader(object))
		_, _ = d.Token()
		again := []byte{'{'}
		for name, value := range change.Members(object) {
			if len(again) > 1 {
				again = append(again, ',')
			}
			again = append(append(append(again, name...), ':'), value...)
			token, err := d.Token()
			var text string
			if err != nil || json.Unmarshal(name, &text) != nil || token != text {
				t.Fatalf("%s: %s is not the name %v: %v", object, name, token, err)
			}
			var want json.RawMessage
			if err := d.Decode(&want); err != nil || !bytes.Equal(want, value) {
				t.Fatalf("%s: %s is not %s: %v", object, value, want, err)
			}
		}
		if again = append(again, '}'); d.More() || !bytes.Equal(again, object) {
			t.Fatalf("%s became %s", object, again)
		}
	})
}
