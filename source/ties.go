package source

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// How many of a tied page's ends untie tries, and how many rows it reads at each.
const (
	untieEnds = 4
	untieRows = 16
)

// untie ends a tied page where the database itself tells two keys apart: when it gives the one as a row after the other.
// That costs a round trip, which only a page pays that is tied as a whole.
func (c *Cursor) untie(ctx context.Context, s *session, col *collect.Collector) error {
	p, next := col.Plan, col.Next
	sel := p.Sel
	sel.Columns = p.Sel.Order
	for n := len(col.Tied); n > max(0, len(col.Tied)-untieEnds); n-- {
		at, err := p.Decode(col.Tied[n-1].Cursor)
		if err != nil {
			return err
		}
		st := sel.Page(untieRows, keyset.Span{After: len(at)})
		if col.Scan != nil {
			if st, err = p.Snapshots().ScanAfter(&sel, &col.Tied[n-1], col.Scan, untieRows); err != nil {
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
			col.Events, col.Tied, col.Bad = col.Tied[:n], nil, nil
			return nil
		}
		next = at
	}
	return nil
}
