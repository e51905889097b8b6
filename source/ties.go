package source

import (
	"context"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// end draws the page's end before the row r. Where the catalog did not prove the key, the database may hold two keys
// equal whose text differs (by case, accents, width or blanks: any collation may), and a fetch that begins after the one
// then passes over the other. So the end is drawn only where something other than text differs, or, where that would be
// nowhere in the page, where untie finds that the database tells them apart.
func (c *collector) end(r engine.Row) {
	if c.plan.KeyProved || len(c.events) == 0 {
		return
	}
	all, next := c.events, c.position(r)
	for n := len(c.events); n > 0 && c.plan.MayTie(c.events[n-1].Cursor, next, c.byKey()); n-- {
		c.events = c.events[:n-1]
	}
	if len(c.events) > 0 || c.bad != nil {
		return
	}
	larger := "batch_size"
	if c.full {
		larger = "batch_bytes"
	}
	c.tied, c.next = all, next
	one := "have one cursor, "
	if c.scan != nil {
		one = "" // their order is that of the key alone
	}
	c.bad = fmt.Errorf("the rows of a whole page, around the key %s, "+one+"their keys differ in text only, and the database seems to hold some of them equal: "+
		"raise %s, or name a source__key that is no text", all[len(all)-1].Key, larger)
}

// byKey says which of the plan's order columns order the page; nil for all.
func (c *collector) byKey() []bool {
	if c.scan == nil {
		return nil
	}
	of := make([]bool, len(c.plan.Order))
	for n, i := range c.plan.Order {
		of[n] = slices.Contains(c.plan.Key, i)
	}
	return of
}

// How many of a tied page's ends untie tries, and how many rows it reads at each.
const (
	untieEnds = 4
	untieRows = 16
)

// untie ends a tied page where the database itself tells two keys apart: when it gives the one as a row after the other.
// That costs a round trip, which only a page pays that is tied as a whole.
func (c *Cursor) untie(ctx context.Context, s *session, col *collector) error {
	p, next := col.plan, col.next
	sel := p.Sel
	sel.Columns = p.Sel.Order
	for n := len(col.tied); n > max(0, len(col.tied)-untieEnds); n-- {
		at, err := p.Decode(col.tied[n-1].Cursor)
		if err != nil {
			return err
		}
		st := sel.Page(untieRows, keyset.Span{After: len(at)})
		if col.scan != nil {
			if st, err = p.Snapshots().ScanAfter(&sel, &col.tied[n-1], col.scan, untieRows); err != nil {
				return err
			}
		}
		args, err := p.Args(st, at, nil)
		if err != nil {
			return err
		}
		apart := false
		err = c.dialect.Read(ctx, s.conn, st.Text, args, sel.Columns, func(r engine.Row) (bool, error) {
			apart = next.Is(r)
			return !apart, nil
		})
		if err != nil {
			return fmt.Errorf("compare two keys: %w", err)
		}
		if apart {
			col.events, col.tied, col.bad = col.tied[:n], nil, nil
			return nil
		}
		next = at
	}
	return nil
}

// position is a row's, as far as it can be told: nil for a value that has no form.
func (c *collector) position(r engine.Row) keyset.Position {
	pos := make(keyset.Position, len(c.plan.Order))
	for n, i := range c.plan.Order {
		if v, err := r.AppendJSON(nil, i); err == nil {
			pos[n] = v
		}
	}
	return pos
}
