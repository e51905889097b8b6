package sqlite

import (
	"database/sql/driver"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/engine"
)

// TestUntypedKey: text that is no integer's in a key without a declared type is read back as text.
func TestUntypedKey(t *testing.T) {
	for _, text := range []string{"+9007199254740993", "09007199254740993", "9007199254740991", "92233720368547758070",
		"-0"} {
		untyped := engine.Column{Value: ValueOf(""), Positional: true}
		scalar, err := (&sqlRow{cols: []engine.Column{untyped}, values: []driver.Value{text}}).AppendJSON(nil, 0)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if back, err := (Dialect{}).Arg(&untyped, scalar); err != nil || back != text {
			t.Errorf("%s came back as %#v (%v)", text, back, err)
		}
	}
}

// TestPlaces: a value without a form comes back from its place as it is stored; nothing else is one.
func TestPlaces(t *testing.T) {
	for typ, value := range map[string]driver.Value{
		"TEXT": "\xff", "INTEGER": []byte("12"), "": "9007199254740993", "BLOB": "text", "blob": int64(7), "Blob": 1.5,
		"NUMERIC": math.Inf(-1),
	} {
		col := engine.Column{Value: ValueOf(typ), Positional: true}
		row := &sqlRow{cols: []engine.Column{col}, values: []driver.Value{value}}
		if form, err := row.AppendJSON(nil, 0); err == nil {
			t.Errorf("%s %v has the form %s", typ, value, form)
		}
		place, can := row.AppendPlace(nil, 0)
		back, err := (Dialect{}).Arg(&col, place)
		if diff := cmp.Diff(value, back); !can || err != nil || diff != "" {
			t.Errorf("%s %v: %s, %v: %s", typ, value, place, err, diff)
		}
	}
	for _, none := range []string{`{}`, `{"integer":7}`, `{"integer":"x"}`, `{"text_base64":"*"}`, `{"json":"1"}`, `[]`,
		`{"integer":"1","real":"1"}`} {
		if v, err := (Dialect{}).Arg(&engine.Column{Value: ValueOf("")}, []byte(none)); err == nil {
			t.Errorf("%s is %v", none, v)
		}
	}
}
