package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzSplitObject holds splitObject to encoding/json's own reading of the same bytes, at every depth.
func FuzzSplitObject(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1}`, "\t{\r\n \"a\" : -1.5e+7 , \"b\":null,\"\":true }\n", `{"a":{"a":[1,{"b":[]}]},"c":[{}]}`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"\u00e9":"é","\"":"\\","\\":"\"}","{":"]"}`, `{"\ud800":1,"\ud83d\ude00":2}`,
		`{"�":1,"\ud800":2}`, `{"a b":"c , d : e } f"}`, `[{"a":1}]`, `"{}"`, `null`, `1`, `{"<&>":"\u003c"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if utf8.Valid(data) && json.Valid(data) {
			sameSplit(t, data, 0)
		}
	})
}

func sameSplit(t *testing.T, data []byte, depth int) {
	t.Helper()
	got, err := splitObject(data)
	want, wantErr := splitByTokens(data)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q: %v, want %v", data, err, wantErr)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(member{})); diff != "" && len(want)+len(got) > 0 {
		t.Fatalf("%q: %s", data, diff)
	}
	for _, m := range got {
		if cap(m.raw) > len(m.raw) || cap(m.rawName) > len(m.rawName) {
			t.Errorf("%q: whoever appends to member %q writes over the next", data, m.name)
		}
		if depth < 100 {
			sameSplit(t, m.raw, depth+1)
		}
	}
}

// splitByTokens is splitObject by encoding/json, which takes several times as long.
func splitByTokens(data []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
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
