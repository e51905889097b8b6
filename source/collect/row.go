package collect

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/snapshot"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// Collector turns the rows of one statement into events. A row is encoded into a scratch buffer that is used again for
// each, then copied into a chunk that many events share: a page costs a few large allocations and one small one per
// event (its id).
type Collector struct {
	Plan    *plan.Plan
	Cfg     *plan.Config
	Limit   poller.Limit
	Fetched time.Time // Event.Time where the cursor is no time
	// Since reports, of a change table, whether a version lies after the position that the page begins at. Nil where there
	// is none: then a row is an insert if it was not written since it was inserted.
	Since func(version []byte) bool
	// Untold reports whether the insert of such a version may not have been delivered yet: then it is an insert. Nil where
	// updates are wanted, and say as much.
	Untold func(version []byte) bool
	// Touched reports whether a write of such a version is one that may not have been delivered yet: an update without one
	// to a column of source__changed is left out. Nil where all are wanted.
	Touched func(version []byte) bool
	// Masked says that a row's mask holds every column that was written since what was delivered for certain.
	Masked bool
	// Floor and Head are those of the change table, as the last row told them.
	Floor, Head []byte

	Events []change.Event
	bytes  int
	// More says that the reading stopped at a limit, full that it was the limit on bytes.
	More, Full bool
	// Bad is why the row after the last event cannot become an event. The events before it are good.
	Bad error
	// nulled are the columns of the row in scratch that have no form, and null in its place; why is the first one's
	// reason. size is what the row would have taken.
	nulled []int
	why    error
	size   int
	// Tied is a whole page that could not be ended anywhere, which is then what bad says, and next the position of the row
	// after it.
	Tied []change.Event
	Next keyset.Position
	// Scan is the window of a page whose rows come by key alone (package snapshot); nil where they come by cursor and key.
	Scan *snapshot.Window
	// Whole says that every row is told of as inserted: those of the table itself, and those of which nothing else is
	// wanted.
	Whole bool
	// Times are the stored times that the page has shown last, for each cursor column; nil where forms do not matter.
	Times []storedTime

	scratch []byte
	ends    []int // where each column's value ends in scratch…
	starts  []int // … and begins
	chunk   []byte
	values  [][]byte // the cursor columns' JSON, for appendCursor
}

// value is column i's JSON in scratch.
func (c *Collector) value(i int) []byte { return c.scratch[c.starts[i]:c.ends[i]] }

// encode writes the row's JSON object to scratch and notes where each column's value stands. A value without a form is
// null there and makes the row broken, unless the row's place is made of it: see placed.
func (c *Collector) encode(r engine.Row) error {
	p := c.Plan
	c.nulled = c.nulled[:0]
	c.scratch, c.starts, c.ends = append(c.scratch[:0], '{'), c.starts[:0], c.ends[:0]
	var err error
	for i := range p.Sel.Columns {
		if i < len(p.Names) {
			if i > 0 {
				c.scratch = append(c.scratch, ',')
			}
			c.scratch = append(c.scratch, p.Names[i]...)
		}
		c.starts = append(c.starts, len(c.scratch))
		if c.scratch, err = r.AppendJSON(c.scratch, i); err != nil {
			c.scratch = c.scratch[:c.starts[i]]
			switch schema := errors.Is(err, engine.ErrSchemaChanged); {
			case !schema && !p.Sel.Columns[i].Positional:
				c.scratch = append(c.scratch, keyset.Null...)
			case schema || !c.placed(r, i): // a type that is not the plan's is the plan's fault, not the row's
				return fmt.Errorf("%w%s", c.formless(i, err), c.where(i))
			}
			if len(c.nulled) == 0 {
				c.why = err
			}
			c.nulled = append(c.nulled, i)
		}
		c.ends = append(c.ends, len(c.scratch))
		if i == len(p.Names)-1 {
			c.scratch = append(c.scratch, '}')
		}
	}
	return nil
}

// object writes a JSON object of columns.
func (c *Collector) object(dst []byte, names []string, at []int) []byte {
	dst = append(dst, '{')
	for n, i := range at {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, names[n]...)
		dst = append(dst, c.value(i)...)
	}
	return append(dst, '}')
}

// identifying is an operation as the id has it. Whether a row is new depends on who asks, and its id must not.
func identifying(op change.Op) change.Op {
	if op == change.Delete {
		return op
	}
	return change.Upsert
}

// formless reports a value of column i that has no form.
func (c *Collector) formless(i int, why error) error {
	col := &c.Plan.Sel.Columns[i]
	return fmt.Errorf("column %q of type %s: %w; correct the row, or leave the column out by source__columns", col.Name,
		col.Type, why)
}

// where names the row that could not be encoded at column failed, as far as it was read. Of a row that is read by
// itself, without a key in the plan, the caller says which it is.
func (c *Collector) where(failed int) string {
	if len(c.Plan.Key) == 0 {
		return ""
	}
	for _, i := range c.Plan.Key {
		if i >= failed {
			return c.afterLast()
		}
	}
	return " (the row with key " + string(c.object(nil, c.Plan.KeyNames, c.Plan.Key)) + ")"
}

func (c *Collector) afterLast() string {
	if n := len(c.Events); n > 0 {
		return " (the row after key " + string(c.Events[n-1].Key) + ")"
	}
	return " (the first row of the page)"
}

// placed writes the place of column i of the key, whose value has no form, where the row is gone: nobody could correct
// it, and its key would stop the poller for ever. A row that is there stops it, because it can be corrected.
func (c *Collector) placed(r engine.Row, i int) bool {
	t := c.Plan.Tracked
	placer, can := r.(engine.Placer)
	if t == nil || !can {
		return false
	}
	if there, err := r.AppendJSON(nil, t.Present); err != nil || !bytes.Equal(there, keyset.Null) {
		return false
	}
	c.scratch, can = placer.AppendPlace(c.scratch, i)
	return can
}

// storedTime is the last stored time that a page has shown of a cursor column, and its form.
type storedTime struct {
	last []byte
	form timeform.Form
}

// errNullKey reports a row that its key does not identify.
func errNullKey(key []byte) error {
	return fmt.Errorf("a row's key is NULL: %s; source__key must name columns that are never NULL", key)
}
