package state_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/state"
)

// BenchmarkDecode reads a document with every member, as each tick does and each write that is read back.
func BenchmarkDecode(b *testing.B) {
	data := []byte(full)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := state.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
