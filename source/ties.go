package source

import (
	"bytes"
	"context"
	"fmt"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"slices"
	"time"
)

// end draws the page's end before the row r. Where the catalog did not prove the key, the database may hold two keys
// equal whose text differs (by case, accents, width or blanks: any collation may), and a fetch that begins after the one
// then passes over the other. So the end is drawn only where something other than text differs, or, where that would be
// nowhere in the page, where untie finds that the database tells them apart.
func (c *collector) end(r engine.Row) {
	if c.plan.keyProved || len(c.events) == 0 {
		return
	}
	all, next := c.events, c.position(r)
	for n := len(c.events); n > 0 && c.plan.mayTie(c.events[n-1].Cursor, next, c.byKey()); n-- {
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
	of := make([]bool, len(c.plan.order))
	for n, i := range c.plan.order {
		of[n] = slices.Contains(c.plan.key, i)
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
	sel := p.sel
	sel.columns = p.sel.order
	for n := len(col.tied); n > max(0, len(col.tied)-untieEnds); n-- {
		at, err := p.decode(col.tied[n-1].Cursor)
		if err != nil {
			return err
		}
		st := sel.page(untieRows, span{after: len(at)})
		if col.scan != nil {
			if st, err = p.scanAfter(&sel, &col.tied[n-1], col.scan, untieRows); err != nil {
				return err
			}
		}
		args, err := p.args(st, at, nil)
		if err != nil {
			return err
		}
		apart := false
		err = c.dialect.Read(ctx, s.conn, st.text, args, sel.columns, func(r engine.Row) (bool, error) {
			apart = next.is(r)
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

// is reports whether a row of the order columns has the position.
func (pos position) is(r engine.Row) bool {
	for i, v := range pos {
		if got, err := r.AppendJSON(nil, i); err != nil || !bytes.Equal(got, v) {
			return false
		}
	}
	return true
}

// position is a row's, as far as it can be told: nil for a value that has no form.
func (c *collector) position(r engine.Row) position {
	pos := make(position, len(c.plan.order))
	for n, i := range c.plan.order {
		if v, err := r.AppendJSON(nil, i); err == nil {
			pos[n] = v
		}
	}
	return pos
}

// mayTie reports whether the database may hold a stored cursor equal to a position, in the order columns of which those
// that count are named; nil is all.
func (p *plan) mayTie(stored []byte, next position, counts []bool) bool {
	pos, err := p.decode(stored)
	if err != nil {
		return true // not of this plan: nothing shows that they differ
	}
	for n, v := range next {
		if counts != nil && !counts[n] {
			continue
		}
		k := p.sel.order[n].Value.Kind
		if v == nil || sameValue(k, pos[n], v) || p.folds(k, pos[n]) && p.folds(k, v) {
			continue
		}
		return false
	}
	return true
}

// folds reports whether a value is text that a collation may hold equal to another. In SQLite a uuid is text, and an
// integer beyond 2^53 is none although it is quoted.
func (p *plan) folds(k engine.Kind, v []byte) bool {
	if v[0] != '"' || !p.storedTimes {
		return k == engine.KindText
	}
	_, integer := scalar.BigInteger(string(v[1 : len(v)-1]))
	return !integer && (k == engine.KindText || k == engine.KindUUID)
}

// sameValue reports whether two values of a kind are equal, however they are written.
func sameValue(k engine.Kind, a, b []byte) bool {
	switch k {
	case engine.KindDecimal:
		return bytes.Equal(shortest(a), shortest(b))
	case engine.KindOffsetTime:
		at, ok := parseTime(a, time.UTC)
		other, alsoOK := parseTime(b, time.UTC)
		if ok && alsoOK {
			return at.Equal(other)
		}
	}
	return bytes.Equal(a, b)
}

// shortest is a decimal without quotes and without zeros at the end of its fraction.
func shortest(v []byte) []byte {
	v = bytes.Trim(v, `"`)
	if bytes.IndexByte(v, '.') < 0 || bytes.ContainsAny(v, "eE") {
		return v
	}
	return bytes.TrimSuffix(bytes.TrimRight(v, "0"), []byte("."))
}
