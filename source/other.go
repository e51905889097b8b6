package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Bounds of a search for a row of another order key: rows that are read one by one where the database cannot compare, and
// pages of one row that turned out to be of no use.
const (
	otherRows  = 500
	otherPages = 20
)

// Other returns the first row after a position whose order key is none of avoid (at most 100 are given); nil where there is
// none, or none was found within otherPages pages or probeTimeout: it is a probe, and what it costs is bounded. A row
// that can never be sent is of no use as one. The row stays below the safe point, as those of Fetch do.
func (c *Cursor) Other(ctx context.Context, after change.Cursor, avoid [][]byte) (*change.Event, error) {
	var event *change.Event
	bounded, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout*9/10))
	defer cancel()
	err := c.byPlan(bounded, func(p *plan) (err error) {
		event, err = c.other(bounded, p, after, avoid)
		return err
	})
	switch {
	case err == nil:
		return event, nil
	case ctx.Err() == nil && errors.Is(context.Cause(bounded), context.DeadlineExceeded):
		return nil, nil // a table without an index for it, say: no probe, no fault
	}
	return nil, fmt.Errorf("look for a row of another order key: %w", err)
}

func (c *Cursor) other(ctx context.Context, p *plan, after change.Cursor, avoid [][]byte) (*change.Event, error) {
	limit := poller.Limit{Rows: otherRows, Bytes: 1 << 20}
	var also []condition
	if p.comparable(p.orderKey) {
		also = append(also, p.noneOf(avoid))
		limit = poller.Limit{Rows: 1, Bytes: 1}
	}
	for range otherPages {
		page, err := c.livePage(ctx, p, poller.Range{After: after}, limit, also...)
		if err != nil || len(page.Events) == 0 {
			return nil, err
		}
		for i := range page.Events {
			e := &page.Events[i]
			if e.Broken == nil && !slices.ContainsFunc(avoid, func(key []byte) bool { return bytes.Equal(key, e.OrderKey) }) {
				return e, nil
			}
		}
		if !page.More {
			return nil, nil
		}
		after = page.Events[len(page.Events)-1].Position()
	}
	return nil, nil
}

// comparable reports whether the database compares the columns' values exactly, and the way back from their JSON is known.
func (p *plan) comparable(at []int) bool {
	for _, col := range p.at(at) {
		switch {
		case col.Value.NoKey != "", col.Value.Kind == engine.KindFloat, col.Value.Kind == engine.KindJSON:
			return false
		}
	}
	return true
}

// noneOf writes that a row's order key is none of these. An order key may hold NULLs, which are equal to each other here:
// what is NULL is known when the statement is written, so that no engine's own operator for it is needed. A key that is
// not one of these columns (a row whose order key has no form stands by itself) is no row's order key.
func (p *plan) noneOf(avoid [][]byte) condition {
	// A power of two of keys, the last one again where there are fewer: there are few different statements then.
	avoid = slices.Clone(avoid)
	for n := len(avoid); len(avoid)&(len(avoid)-1) != 0; {
		avoid = append(avoid, avoid[n-1])
	}
	return func(b *builder, s *selection) {
		columns := p.orderColumns()
		b.add("(1 = 1")
		for _, key := range avoid {
			values, err := decodeMembers(key, columns)
			if err != nil {
				continue
			}
			args := make([]any, len(columns))
			for n, col := range columns {
				if bytes.Equal(values[n], null) {
					continue
				}
				if args[n], err = p.dialect.Arg(col, values[n]); err != nil {
					break
				}
			}
			if err != nil {
				continue
			}
			b.add("\n\tAND (")
			for n, col := range columns {
				if n > 0 {
					b.add(" OR ")
				}
				b.differs(s, col, args[n])
			}
			b.add(")")
		}
		b.add(")")
	}
}

// differs writes that a column's value is not arg, which is nil for NULL.
func (b *builder) differs(s *selection, col *engine.Column, arg any) {
	name := s.column(*col)
	if arg == nil {
		b.add(name + " IS NOT NULL")
		return
	}
	b.add(name + " <> ")
	b.value(col, arg)
	if col.Nullable {
		b.add(" OR " + name + " IS NULL")
	}
}
