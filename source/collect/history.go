package collect

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// What a history says of the change in scratch.

// operation is what was done. A row of the table itself is told as inserted.
func (c *Collector) operation() change.Op {
	if c.Plan.History.Operation < 0 {
		return change.Insert
	}
	op, _ := change.OpOf(string(bytes.Trim(c.value(c.Plan.History.Operation), `"`)))
	return op
}

// before appends the row before the change in scratch: of a delete it is the row itself, null of an insert, and of an
// update that was recorded without it. Nothing where nobody asks.
func (c *Collector) before(dst []byte, op change.Op) []byte {
	p := c.Plan
	was := p.History.Was
	switch {
	case was == nil:
		return dst
	case op == change.Insert, op == change.Update && !c.wasRecorded():
		return append(dst, keyset.Null...)
	case op == change.Delete:
		return append(dst, c.scratch[:c.ends[len(p.Names)-1]+1]...)
	}
	for n, i := range was {
		dst = append(append(dst, "{,"[min(n, 1)]), p.Names[n]...)
		if i < 0 {
			dst = append(dst, keyset.Null...)
		} else {
			dst = append(dst, c.value(i)...)
		}
	}
	return append(dst, '}')
}

// wasRecorded reports whether the change in scratch was recorded with the row before it: its key is not NULL.
func (c *Collector) wasRecorded() bool {
	key := c.Plan.History.WasKey
	return key >= 0 && !bytes.Equal(c.value(key), keyset.Null)
}

// recorded is Event.Written: an update's columns, where the row before it is known, and the writer's context, where it
// is one.
func (c *Collector) recorded(op change.Op) *change.Written {
	h := c.Plan.History
	var columns []string
	var context string
	if op == change.Update && c.wasRecorded() {
		for n, i := range h.Was {
			if i < 0 || !bytes.Equal(c.value(n), c.value(i)) {
				columns = append(columns, c.Plan.Sel.Columns[n].Name)
			}
		}
	}
	if h.Context >= 0 && !bytes.Equal(c.value(h.Context), keyset.Null) {
		_ = json.Unmarshal(c.value(h.Context), &context) // a text
	}
	if digits, is := strings.CutPrefix(context, "0x"); !is || strings.Trim(digits, "0123456789abcdef") != "" {
		context = ""
	}
	return change.NewWritten(columns, context)
}
