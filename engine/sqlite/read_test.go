package sqlite

import (
	"database/sql/driver"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
)

// TestUntypedKey: text that is no integer's in a key without a declared type is read back as text.
func TestUntypedKey(t *testing.T) {
	for _, text := range []string{"+9007199254740993", "09007199254740993", "9007199254740991", "92233720368547758070",
		"-0"} {
		untyped := engine.Column{Value: valueOf(""), Positional: true}
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
