package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// places remembers when positions were last known to be sound: rows came up to there, or a look found them so.
type places map[string]place

type place struct {
	at     time.Time
	warned bool
}

// placesKept bounds places: the outputs of one poller share a source, and each has its own position.
const placesKept = 64

func (p places) note(at change.Cursor, now time.Time, warned bool) {
	if len(p) >= placesKept {
		for key, known := range p {
			if now.Sub(known.at) >= probeEvery {
				delete(p, key)
			}
		}
	}
	if len(p) >= placesKept {
		clear(p)
	}
	p[string(at)] = place{now, warned}
}

// sound notes that rows came up to a position: it cannot be ahead of what gave them their values.
func (c *Cursor) sound(at change.Cursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places.note(at, time.Now(), false)
}

// seekGap holds a position against the engine's own counter, where no row came after it: at once when a process first
// idles there, then once a minute. What comes after a position that is ahead of the counter is never seen: rows to come
// have values below it. While its verdict stands every fetch looks
// again.
//
// A position that a person named (without a tie-breaker) may well be ahead. On a replica the counter, like the rows,
// may be late. Where a value above the counter stands in the table it was written explicitly, and only a warning says
// what may come of it. A look that fails is a warning: it is a courtesy, and must not cost a page.
func (c *Cursor) seekGap(ctx context.Context, s *pool.Session, p *plan.Plan, at change.Cursor, pos keyset.Position,
	page *change.Page) error {
	if at.IsStart() || !p.Counted(at) && p.Tracked == nil || s.Server.ReadOnly && p.Tracked == nil || s.Broken {
		return nil
	}
	c.mu.Lock()
	known, ok := c.places[string(at)]
	c.mu.Unlock()
	if ok && time.Since(known.at) < probeEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout))
	defer cancel()
	gap, warning, err := c.lookForGap(ctx, s, p, at, pos)
	switch {
	case gap != nil:
		return gap
	case err != nil:
		warning = "the position could not be held against the engine's counter: " + err.Error()
	}
	if warning != "" && !known.warned {
		page.Warnings = append(page.Warnings, warning)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places.note(at, time.Now(), warning != "")
	return nil
}

// Gap returns an error that wraps poller.ErrGap when a position is ahead of the engine's own counter, and nil when it
// is not, or when that cannot be known. It looks at once. `rowrelay state accept-gap` asks it whether accepting is to
// move the position to Latest: a position that stays ahead would never see a row again.
func (c *Cursor) Gap(ctx context.Context, at change.Cursor) error {
	var gap error
	err := c.byPlan(ctx, func(p *plan.Plan) (err error) {
		gap, err = c.strategy(p).gap(ctx, at)
		return err
	})
	if err != nil {
		return fmt.Errorf("hold the position against the engine's counter: %w", err)
	}
	return gap
}

func (c *Cursor) lookForGap(ctx context.Context, s *pool.Session, p *plan.Plan, at change.Cursor,
	pos keyset.Position) (gap error, warning string, err error) {
	if p.Tracked != nil {
		gap, err = c.changeGap(ctx, s, p, at)
		return gap, "", err
	}
	col := &p.Sel.Order[0]
	var n engine.Counter
	if k := col.Value.Kind; k == engine.KindInteger || k == engine.KindRowVersion {
		if n, err = c.dialect.Counter(ctx, s.Conn, &p.Table, col); err != nil {
			return nil, "", err
		}
	}
	ahead := isAhead(pos[0], n.Highest)
	if ahead && col.Value.Kind == engine.KindRowVersion {
		return c.errGap(at, n), "", nil // nobody writes one
	}
	if !ahead && p.IndexName == "" {
		return nil, "", nil // to look for a row could read the whole table
	}
	above, err := c.anyFrom(ctx, s, p, pos)
	switch {
	case err != nil || above && !ahead:
		return nil, "", err
	case !ahead:
		return nil, fmt.Sprintf("no row of %s stands at the position %s or above it: rows were deleted since, or the table was restored or filled anew; "+
			"if so, start again with: %s", p.Table.Name, at, keyset.StartAgain), nil
	}
	if !above && n.Loose {
		// The counter rules this column only if what stands in it came from there.
		highest, err := c.highest(ctx, s, p)
		if err != nil {
			return nil, "", err
		}
		above = highest == nil || isAhead(highest, n.Highest)
	}
	if above {
		return nil, fmt.Sprintf("the position %s is ahead of %s, which is at %s, by a value that was written explicitly: rows that take theirs from there "+
			"will not be seen until it has passed the position; raise it (setval, DBCC CHECKIDENT, ALTER TABLE … AUTO_INCREMENT)", at, n.Name, n.Highest), nil
	}
	return c.errGap(at, n), "", nil
}

func (c *Cursor) errGap(at change.Cursor, n engine.Counter) error {
	return fmt.Errorf("%w: %s: the position %s is ahead of %s, which is at %s: the table was emptied, its counter set back, or the database restored, "+
		"and rows to come would stand below the position and never be seen. Deliver every row again: %s; "+
		"or go on after the last row that there is now: rowrelay state accept-gap %s", poller.ErrGap, c.name(), at, n.Name,
		n.Highest, keyset.StartAgain, poller.AnyDocument)
}

// anyFrom reports whether any row of the table, source__where or not, has the position's cursor or a higher one.
func (c *Cursor) anyFrom(ctx context.Context, s *pool.Session, p *plan.Plan, pos keyset.Position) (found bool,
	err error) {
	sel := p.Sel
	sel.Where = ""
	st := sel.FromCursor()
	args, err := p.Args(st, pos, nil)
	if err != nil {
		return false, err
	}
	err = c.dialect.Read(ctx, s.Conn, st.Text, args, sel.Order, func(engine.Row) (bool, error) {
		found = true
		return false, nil
	})
	if err != nil {
		return false, fmt.Errorf("look for a row at the position: %w", err)
	}
	return found, nil
}

// highest is the largest value of the first cursor column; nil where the table is empty.
func (c *Cursor) highest(ctx context.Context, s *pool.Session, p *plan.Plan) (v []byte, err error) {
	sel := p.Sel
	sel.Where = ""
	err = c.dialect.Read(ctx, s.Conn, sel.Latest().Text, nil, sel.Order, func(r engine.Row) (bool, error) {
		v, err = r.AppendJSON(nil, 0)
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the highest cursor: %w", err)
	}
	return v, nil
}

// isAhead reports whether a cursor's value is above a counter's. What is no number is not.
func isAhead(stored []byte, highest string) bool {
	at, err := cursorNumber(stored)
	if err != nil {
		return false
	}
	limit, ok := new(big.Int).SetString(highest, 10)
	return ok && at.Cmp(limit) > 0
}

// cursorNumber is an integer's value, or a rowversion's as the number that its 8 bytes are.
func cursorNumber(stored []byte) (*big.Int, error) {
	text, err := scalar.Text(stored)
	if err != nil {
		return nil, err
	}
	if n, ok := new(big.Int).SetString(text, 10); ok {
		return n, nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != 8 {
		return nil, errors.New("it is no number")
	}
	return new(big.Int).SetBytes(b), nil
}
