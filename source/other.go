package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Bounds of a search for a row of another order key: rows that are read one by one where the database cannot compare,
// and pages of one row that turned out to be of no use.
const (
	otherRows  = 500
	otherPages = 20
)

// Other returns the first row after a position whose order key is none of avoid (at most 100 are given); nil where
// there is none, or none was found within otherPages pages or probeTimeout: it is a probe, and what it costs is
// bounded. A row that can never be sent is of no use as one. The row stays below the safe point, as those of Fetch do.
func (c *Cursor) Other(ctx context.Context, after change.Cursor, avoid [][]byte) (*change.Event, error) {
	var event *change.Event
	bounded, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout*9/10))
	defer cancel()
	err := c.byPlan(bounded, func(p *plan.Plan) (err error) {
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

func (c *Cursor) other(ctx context.Context, p *plan.Plan, after change.Cursor, avoid [][]byte) (*change.Event, error) {
	limit := poller.Limit{Rows: otherRows, Bytes: 1 << 20}
	var also []keyset.Condition
	if p.Comparable(p.OrderKey) {
		also = append(also, p.NoneOf(avoid))
		limit = poller.Limit{Rows: 1, Bytes: 1}
	}
	for range otherPages {
		page, err := c.wantedPage(ctx, p, change.Range{After: after}, limit, also...)
		if err != nil || len(page.Events) == 0 && page.To == nil {
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
		if after = page.To; after == nil {
			after = page.Events[len(page.Events)-1].Position()
		}
	}
	return nil, nil
}
