package commandline

import (
	"maps"
	"testing"
)

// TestKeysOfTexts: a value of a key's column is any text; only several in one flag are told apart by commas.
func TestKeysOfTexts(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"name=Smith, John": {"name": "Smith, John"}, `code=a"b`: {"code": `a"b`}, "id=": {"id": ""},
		"a=1,b=2": {"a": "1", "b": "2"}, `"a=x,y",b=2`: {"a": "x,y", "b": "2"},
	} {
		var got map[string]string
		if err := (OnceEach{&got}).Set(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("--key %s: %v, %v, want %v", text, got, err, want)
		}
	}
}
