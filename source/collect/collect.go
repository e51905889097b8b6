// Package collect turns the rows of one statement into events: JSON, key, order key, position and id. It decides where
// a page ends, and which row can never be sent.
package collect

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// chunkSize is the size of a chunk of an idle table's page; larger rows get chunks of their own.
const chunkSize = 64 << 10

// Add takes one row. It returns false when the page is full or a row is bad.
func (c *Collector) Add(r engine.Row) bool {
	if len(c.Events) >= c.Limit.Rows && c.Plan.KeyProved {
		// The one row beyond the limit, asked for to know that there is more. Its key differs for certain.
		c.More = true
		return false
	}
	if c.Events == nil {
		c.Events = make([]change.Event, 0, min(c.Limit.Rows+1, 4096))
	}
	// It is made in its place, which counts once it is known to be good: events are large, and there is one for each row.
	c.Events = slices.Grow(c.Events, 1)
	n := len(c.Events)
	event := &c.Events[:n+1][n]
	if !c.Make(r, event) {
		c.end(r)
		return false
	}
	if n > 0 && c.sameRow(&c.Events[n-1], event) {
		// Both rows are held back: had the first been delivered, the next fetch would pass over the second.
		c.Bad = fmt.Errorf("two rows have the same %s: source__key does not identify a row; name columns that do",
			c.place(event))
		c.Events = c.Events[:n-1]
		c.end(r)
		return false
	}
	// A broken row counts with what was read of it: a page of them is no longer on its way than any other.
	size := c.size
	full := n > 0 && c.bytes+size > c.Limit.Bytes
	if full || n >= c.Limit.Rows {
		c.More, c.Full = true, full
		c.end(r)
		return false
	}
	c.bytes += size
	c.Events = c.Events[:n+1]
	return true
}

// sameRow reports whether two rows stand at one place in the order of the page.
func (c *Collector) sameRow(a, b *change.Event) bool {
	if c.Scan != nil {
		return bytes.Equal(a.Key, b.Key)
	}
	return a.Cursor.Equal(b.Cursor)
}

// place says for people where a row stands in the order of the page.
func (c *Collector) place(e *change.Event) string {
	if c.Scan != nil {
		return "key " + string(e.Key)
	}
	return "cursor and key " + string(e.Cursor)
}

// Unread estimates the bytes of the rows that the statement still has when the page ended before them.
func (c *Collector) Unread() int {
	taken := len(c.Events)
	switch {
	case !c.Full && c.Bad == nil:
		return 0
	case taken == 0:
		return len(c.scratch) * c.Limit.Rows
	default:
		return c.bytes / taken * (c.Limit.Rows - taken)
	}
}

// Make turns the row into an event, and reports whether it could. One that cannot be sent is an event with Broken set;
// one that has no place is kept as c.Bad: it is no fault of the reading, and what was read before it is good.
func (c *Collector) Make(r engine.Row, e *change.Event) bool {
	if c.Bad = c.encode(r); c.Bad == nil {
		c.Bad = c.event(e)
	}
	return c.Bad == nil
}

// brokenContent stands for the content in the id of a row that cannot be sent: once the row is mended, or max_row_bytes
// is raised, its id is another, also where the cursor alone makes it.
var brokenContent = []byte("broken")

// lost reports whether one of the columns, all of them beside the position, could not be encoded: what stands in its
// place is not its value.
func (c *Collector) lost(at []int) bool {
	if len(c.nulled) == 0 {
		return false
	}
	for _, i := range at {
		if slices.Contains(c.nulled, i) {
			return true
		}
	}
	return false
}

// event makes the event of the row in scratch.
func (c *Collector) event(e *change.Event) error {
	p := c.Plan
	rowEnd := c.ends[len(p.Names)-1] + 1
	start := len(c.scratch)
	c.scratch = c.object(c.scratch, p.KeyNames, p.Key)
	keyEnd := len(c.scratch)
	// An order key without a form cannot be told: the row is then by itself, and so is every other of that order key.
	same := slices.Equal(p.Key, p.OrderKey) || c.lost(p.OrderKey)
	if !same {
		c.scratch = c.object(c.scratch, p.OrderKeyNames, p.OrderKey)
	}
	orderEnd := len(c.scratch)
	c.values = c.values[:0]
	for n, i := range p.Cursor {
		if err := c.checkCursor(n, &p.Sel.Columns[i], c.value(i)); err != nil {
			return fmt.Errorf("%w (the row with key %s)", err, c.scratch[start:keyEnd])
		}
		c.values = append(c.values, c.value(i))
	}
	c.scratch = p.AppendCursor(c.scratch, c.values, c.scratch[start:keyEnd])

	for _, i := range p.Key {
		if bytes.Equal(c.value(i), keyset.Null) {
			return errNullKey(c.scratch[start:keyEnd])
		}
	}
	c.size = rowEnd + (keyEnd - start) + (len(c.scratch) - orderEnd)
	op := c.op()
	gone := p.Tracked != nil && op == change.Delete
	cursorEnd := len(c.scratch)
	if p.History != nil {
		c.scratch = c.before(c.scratch, op)
		c.size += len(c.scratch) - cursorEnd
	}
	var broken error
	switch {
	case len(c.nulled) > 0 && gone:
		broken = c.untold(c.scratch[start:keyEnd])
	case len(c.nulled) > 0:
		broken = fmt.Errorf("%w (the row with key %s)", c.formless(c.nulled[0], c.why), c.scratch[start:keyEnd])
	case c.size > c.Cfg.MaxRowBytes:
		broken = fmt.Errorf("the row with key %s takes %d bytes, more than max_row_bytes (%d): raise max_row_bytes, or leave large columns out by source__columns",
			c.scratch[start:keyEnd], c.size, c.Cfg.MaxRowBytes)
	}
	var content, rest []byte
	if broken == nil && gone {
		rest = c.keep(nil, c.scratch[start:])
		content = rest[: keyEnd-start : keyEnd-start]
	} else if broken == nil {
		kept := c.keep(c.scratch[:rowEnd], c.scratch[start:])
		content, rest = kept[:rowEnd:rowEnd], kept[rowEnd:]
	} else {
		content, rest = keyset.Null, c.keep(nil, c.scratch[start:])
	}
	*e = change.Event{
		Op:      op,
		Key:     rest[: keyEnd-start : keyEnd-start],
		Row:     content,
		Shape:   p.Shape,
		Cursor:  change.Cursor(rest[orderEnd-start : cursorEnd-start : cursorEnd-start]),
		Time:    c.Fetched,
		Undated: true,
		Broken:  broken,
	}
	if gone {
		e.Shape = p.KeyShape
	}
	if before := rest[cursorEnd-start : len(rest) : len(rest)]; len(before) > 0 {
		e.Before = before
	}
	e.Aside = (op == change.Update || c.Cfg.Ignored != "") && c.Touched != nil && !c.Touched(c.value(p.Tracked.Touched))
	e.Aside = e.Aside || p.Sel.Marked && string(c.value(len(p.Sel.Columns)-1)) == plan.NotChosen
	if p.Sel.Writer != nil {
		e.Writer, _ = strconv.ParseUint(string(c.value(len(p.Sel.Columns)-1)), 10, 32) // what is no number is not known
	}
	e.OrderKey = e.Key
	if !same {
		e.OrderKey = rest[keyEnd-start : orderEnd-start : orderEnd-start]
	}
	if p.History != nil && p.History.Written >= 0 {
		if at, ok := timeform.Parse(c.value(p.History.Written), time.UTC); ok {
			e.Time, e.Undated = at, false
		}
	}
	unwritten := c.unwritten(op)
	if p.TimeOf >= 0 && !unwritten {
		if at, ok := timeform.Parse(c.value(p.Cursor[p.TimeOf]), p.Zone(c.Cfg)); ok {
			e.Time, e.Undated = at, false
		}
	}
	switch {
	case broken != nil:
		content = brokenContent
	case p.UniqueCursor && !unwritten:
		content = nil
	}
	e.ID = change.EventID(c.Cfg.Poller, identifying(e.Op), e.Key, c.identity(e), content)
	e.Write, e.Written = c.write(e), c.written(op)
	return nil
}

// op is the row's operation: by setting, or by the soft-delete column.
func (c *Collector) op() change.Op {
	if c.Plan.Tracked != nil {
		return c.tracked(c.Plan.Tracked)
	}
	if c.Plan.History != nil {
		return c.operation()
	}
	if c.Plan.DeleteWhen >= 0 && truthy(c.value(c.Plan.DeleteWhen)) {
		return change.Delete
	}
	return c.Plan.Op
}

// truthy reports whether a soft-delete column's value says that the row is gone: true, or neither null nor zero.
func truthy(v []byte) bool {
	switch string(v) {
	case "null", "false", "true":
		return len(v) == 4 && v[0] == 't'
	}
	for _, b := range v {
		if b >= '1' && b <= '9' || b >= 'a' && b <= 'z' {
			return true
		}
	}
	return false
}

// keep copies two parts, one after the other, to where they stay.
func (c *Collector) keep(a, b []byte) []byte {
	n := len(a) + len(b)
	if cap(c.chunk)-len(c.chunk) < n {
		c.chunk = make([]byte, 0, max(n, chunkSize))
	}
	at := len(c.chunk)
	c.chunk = append(append(c.chunk, a...), b...)
	return c.chunk[at : at+n : at+n]
}
