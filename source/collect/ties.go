package collect

import (
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// end draws the page's end before the row r. Where the catalog did not prove the key, the database may hold two keys
// equal whose text differs (by case, accents, width or blanks: any collation may), and a fetch that begins after the
// one then passes over the other. So the end is drawn only where something other than text differs, or, where that
// would be nowhere in the page, where untie finds that the database tells them apart.
func (c *Collector) end(r engine.Row) {
	if c.Plan.KeyProved || len(c.Events) == 0 {
		return
	}
	all, next := c.Events, c.position(r)
	for n := len(c.Events); n > 0 && c.Plan.MayTie(c.Events[n-1].Cursor, next, c.byKey()); n-- {
		c.Events = c.Events[:n-1]
	}
	if len(c.Events) > 0 || c.Bad != nil {
		return
	}
	larger := "batch_size"
	if c.Full {
		larger = "batch_bytes"
	}
	c.Tied, c.Next = all, next
	one := "have one cursor, "
	if c.Scan != nil {
		one = "" // their order is that of the key alone
	}
	c.Bad = fmt.Errorf("the rows of a whole page, around the key %s, "+one+
		"their keys differ in text only, and the database seems to hold some of them equal: "+
		"raise %s, or name a source__key that is no text", all[len(all)-1].Key, larger)
}

// byKey says which of the plan's order columns order the page; nil for all.
func (c *Collector) byKey() []bool {
	if c.Scan == nil {
		return nil
	}
	of := make([]bool, len(c.Plan.Order))
	for n, i := range c.Plan.Order {
		of[n] = slices.Contains(c.Plan.Key, i)
	}
	return of
}

// position is a row's, as far as it can be told: nil for a value that has no form.
func (c *Collector) position(r engine.Row) keyset.Position {
	pos := make(keyset.Position, len(c.Plan.Order))
	for n, i := range c.Plan.Order {
		if v, err := r.AppendJSON(nil, i); err == nil {
			pos[n] = v
		}
	}
	return pos
}
