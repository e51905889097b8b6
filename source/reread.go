package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/tracked"
)

// A statement reads at most so many keys, and has at most so many parameters: SQL Server takes 2100, an old SQLite 999.
const (
	rereadKeys   = 128
	rereadParams = 900
)

// Reread returns the newest state of rows by their keys (Event.Key), in the order of keys and each once. A row that is
// deleted by source__delete_when is a delete; one that is gone from the table, or does not meet source__where any more,
// is missing. Where changes are tracked one that is gone is a delete, whatever is still recorded of it. A row that can
// never be sent has Broken set.
//
// Keys come from a stored object: one that does not fit the settings is ErrConfig. A row that has no place in the order
// any more is ErrNormalize, as it is for Fetch.
//
// Where the database holds a row's key equal to the one asked for although it is written differently (a collation that
// ignores case, blanks at the end), the row is that key's: it was renamed in place, or written again.
func (c *Cursor) Reread(ctx context.Context, keys [][]byte) ([]change.Event, error) {
	var events []change.Event
	err := c.byPlan(ctx, func(p *plan.Plan) error {
		events = nil
		for left := keys; len(left) > 0; {
			of, n, err := p.Of(left)
			if err != nil {
				return err
			}
			more, err := c.reread(ctx, of, left[:n])
			if err != nil {
				return err
			}
			events, left = append(events, more...), left[n:]
		}
		events = c.wantedAgain(events)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read rows again: %w", err)
	}
	return events, nil
}

func (c *Cursor) reread(ctx context.Context, p *plan.Plan, stored [][]byte) ([]change.Event, error) {
	var keys []keyset.Key
	place := map[string]int{} // a key's JSON → its index in keys
	for _, s := range stored {
		k, err := p.DecodeKey(s)
		if err != nil {
			return nil, err
		}
		if _, twice := place[string(k.JSON)]; !twice {
			place[string(k.JSON)] = len(keys)
			keys = append(keys, k)
		}
	}
	found := make([]*change.Event, len(keys))
	for begin := 0; begin < len(keys); begin += atOnce(p) {
		end := min(begin+atOnce(p), len(keys))
		rows, err := c.readNewest(ctx, p, keys[begin:end])
		if err != nil {
			return nil, err
		}
		strange := false
		for i := range rows {
			if n, known := place[string(rows[i].Key)]; known {
				found[n] = &rows[i] // of several the last, which is the newest
			} else {
				strange = true
			}
		}
		if !strange {
			continue
		}
		// The database holds some keys equal that are written differently. Which, it says when it is asked for one alone.
		for n := begin; n < end; n++ {
			if found[n] != nil {
				continue
			}
			if rows, err = c.readNewest(ctx, p, keys[n:n+1]); err != nil {
				return nil, err
			}
			if len(rows) > 0 {
				found[n] = &rows[len(rows)-1]
			}
		}
	}
	var events []change.Event
	for _, e := range found {
		if e != nil {
			events = append(events, *e)
		}
	}
	return events, nil
}

// readNewest reads the rows of one chunk, where changes are tracked also those that nobody has written since: the table
// alone knows them.
func (c *Cursor) readNewest(ctx context.Context, p *plan.Plan, keys []keyset.Key) ([]change.Event, error) {
	rows, err := c.readKeys(ctx, p, keys)
	if err != nil || p.Tracked == nil || p.BuiltIn() != nil {
		return rows, err
	}
	known := map[string]bool{}
	for i := range rows {
		known[string(rows[i].Key)] = true
	}
	unwritten := slices.DeleteFunc(slices.Clone(keys), func(k keyset.Key) bool { return known[string(k.JSON)] })
	if len(unwritten) == 0 {
		return rows, nil
	}
	more, err := c.readKeys(ctx, p.Whole, unwritten)
	if err != nil || len(more) == len(unwritten) {
		return append(rows, more...), err
	}
	for i := range more {
		known[string(more[i].Key)] = true
	}
	gone, err := c.forgotten(ctx, p,
		slices.DeleteFunc(unwritten, func(k keyset.Key) bool { return known[string(k.JSON)] }))
	return append(append(rows, more...), gone...), err
}

// atOnce is how many keys one statement reads: a power of two.
func atOnce(p *plan.Plan) int {
	return 1 << (bits.Len(uint(min(rereadKeys, max(1, rereadParams/len(p.Key))))) - 1)
}

// readKeys reads the rows of one chunk. The statement asks for a power of two of keys, the last one again where there
// are fewer: so there are few different statements, which servers keep plans of.
func (c *Cursor) readKeys(ctx context.Context, p *plan.Plan, keys []keyset.Key) ([]change.Event, error) {
	asked := keys[:len(keys):len(keys)]
	for len(asked)&(len(asked)-1) != 0 {
		asked = append(asked, keys[len(keys)-1])
	}
	st := p.Sel.ByKeys(p.KeyColumns(), asked, !p.KeyProved, tracked.KeysInTransaction(p)...)
	args, err := p.Args(st, nil, nil)
	if err != nil {
		return nil, err
	}
	var col collect.Collector
	var events []change.Event
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		col, events = collect.Collector{Plan: p, Cfg: &c.cfg, Fetched: time.Now()}, events[:0]
		// Its insert was not delivered, or it would not be read again.
		col.Whole = p.Tracked != nil && c.cfg.OnlyInserts()
		err := c.dialect.Read(ctx, s.Conn, st.Text, args, p.Sel.Columns, func(r engine.Row) (bool, error) {
			var event change.Event
			ok := col.Make(r, &event)
			if ok {
				events = append(events, event)
			}
			return ok, nil
		})
		if c.dialect.Classify(err) == engine.FaultData {
			return fmt.Errorf("%w: a stored key is no value of the key's columns, or source__where cannot be computed: %w",
				poller.ErrConfig, err)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case col.Bad != nil && errors.Is(col.Bad, engine.ErrSchemaChanged):
		return nil, col.Bad
	case col.Bad != nil:
		return nil, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), col.Bad)
	}
	return events, nil
}

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
