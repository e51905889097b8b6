package source

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// forgotten are the deletes of keys that neither the change table nor the table holds. A purge by age keeps the change
// that an event was parked with, and not what happened to its row after that, nor the rows that wait after it. Such a
// delete has the version of what was there before every change. A row that source__where leaves out is there.
func (c *Cursor) forgotten(ctx context.Context, p *plan.Plan, keys []keyset.Key) (events []change.Event, err error) {
	there, err := c.thereOf(ctx, p, keys)
	if err != nil || len(there) >= len(keys) {
		return nil, err
	}
	var version []byte
	for _, k := range keys {
		if slices.ContainsFunc(there, func(key []byte) bool { return bytes.Equal(key, k.JSON) }) {
			continue
		}
		if len(there) > 0 && len(keys) > 1 { // one of them may be this key in another spelling
			alone, err := c.thereOf(ctx, p, []keyset.Key{k})
			if err != nil {
				return nil, err
			}
			if len(alone) > 0 {
				continue
			}
		}
		if version == nil {
			if version, err = c.before(ctx, p); err != nil {
				return nil, err
			}
		}
		event, err := collect.Deleted(p, &c.cfg, k.JSON, version, time.Now())
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// thereOf are the keys of those that the table holds, whatever source__where says.
func (c *Cursor) thereOf(ctx context.Context, p *plan.Plan, keys []keyset.Key) (there [][]byte, err error) {
	sel := c.plainRows(p)
	sel.Where, sel.Columns = "", sel.Order
	st := sel.ByKeys(p.KeyColumns(), keys, false)
	args, err := p.Args(st, nil, nil)
	if err != nil {
		return nil, err
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		there = nil
		return c.dialect.Read(ctx, s.Conn, st.Text, args, sel.Columns, func(r engine.Row) (bool, error) {
			key, err := collect.KeyOf(p, r)
			there = append(there, key)
			return err == nil, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("look for the rows of parked keys: %w", err)
	}
	return there, nil
}

// before is the version of what was there before every change.
func (c *Cursor) before(ctx context.Context, p *plan.Plan) (version []byte, err error) {
	column := p.Sel.Columns[p.Tracked.Version]
	text := "SELECT " + engine.Fill(column.Value.Expr, "CAST("+p.Syntax.Tracking.Before+" AS "+column.Type+")")
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		return c.dialect.Read(ctx, s.Conn, text, nil, []engine.Column{column}, func(r engine.Row) (bool, error) {
			version, err = r.AppendJSON(nil, 0)
			return false, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the version before every change: %w", err)
	}
	return version, nil
}
