package keyset

import (
	"bytes"
	"encoding/json"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Position is a stored cursor, decoded: the JSON scalar of each order column. It is nil at the beginning, and holds the
// cursor's columns only when it was made by source__start=<value>, which comes after every row of that value.
type Position [][]byte

// StoredCursor is the form of a cursor in a checkpoint.
type StoredCursor struct {
	Kind       string                     `json:"kind"`
	Value      json.RawMessage            `json:"value"`
	Tiebreaker map[string]json.RawMessage `json:"tiebreaker"`
	// Window is what the position is within, of a change table: the version that the window begins after, null for the
	// beginning, and the last one that it holds.
	Window []json.RawMessage `json:"window"`
}

// StartAgain is the command that delivers every row again.
const StartAgain = "rowrelay state reset " + poller.AnyDocument + " --to beginning"

// Is reports whether a row of the order columns has the position.
func (pos Position) Is(r engine.Row) bool {
	for i, v := range pos {
		if got, err := r.AppendJSON(nil, i); err != nil || !bytes.Equal(got, v) {
			return false
		}
	}
	return true
}

// Common is how many of the first columns two positions have in common, as far as their JSON tells.
func Common(a, b Position) (n int) {
	for n < len(a) && n < len(b) && bytes.Equal(a[n], b[n]) {
		n++
	}
	return n
}

// Null is JSON's null. It must not be changed.
var Null = []byte("null")
