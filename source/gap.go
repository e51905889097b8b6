package source

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/counter"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// placesKept bounds places: the outputs of one poller share a source, and each has its own position.
const placesKept = 64

func (p places) note(at change.Cursor, found place) {
	if len(p) >= placesKept {
		for key, known := range p {
			if found.at.Sub(known.at) >= probeEvery {
				delete(p, key)
			}
		}
	}
	if len(p) >= placesKept {
		clear(p)
	}
	p[string(at)] = found
}

// sound notes that rows of a table came up to a position: it cannot be ahead of what gave them their values.
func (c *Cursor) sound(at change.Cursor, table string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places.note(at, place{at: time.Now(), table: table})
}

// seekGap holds a position against the engine's own counter, where no row came after it: at once when a process first
// idles there, then once a minute, and at once on a connection that is newer or where the table is another: what was
// restored under a process ended the connection, or on SQLite changed the schema's version. What comes after a
// position that is ahead of the counter is never seen: rows to come have values below it. While its verdict stands
// every fetch looks again.
//
// A position that a person named (without a tie-breaker) may well be ahead: a warning says what is never delivered
// then. On a replica the counter, like the rows, may be late. Where a value above the counter stands in the table it
// was written explicitly, and only a warning says what may come of it. A look that fails is a warning: it is a
// courtesy, and must not cost a page.
func (c *Cursor) seekGap(ctx context.Context, s *pool.Session, p *plan.Plan, at change.Cursor, pos keyset.Position,
	page *change.Page) error {
	if at.IsStart() || s.Server.ReadOnly && p.Tracked == nil || s.Broken {
		return nil
	}
	c.mu.Lock()
	known, ok := c.places[string(at)]
	c.mu.Unlock()
	if ok && time.Since(known.at) < probeEvery && s.Opened.Before(known.at) && known.table == page.Table {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout))
	defer cancel()
	gap, warning, err := c.holdAgainst(ctx, s, p, at, pos)
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
	c.places.note(at, place{time.Now(), warning != "", page.Table})
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

// Ahead reports whether no row stands at a position or above it: rows that come below it are never delivered. It is for
// operators: without an index it reads the whole table. False for positions of changes and of transactions, which are
// held against what the engine counts, whoever named them.
func (c *Cursor) Ahead(ctx context.Context, at change.Cursor) (ahead bool, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		if ahead = false; at.IsStart() || p.Tracked != nil || p.ByWindows() {
			return nil
		}
		pos, err := p.Decode(at)
		if err != nil {
			return err
		}
		return c.sessions.Patiently(ctx, func(ctx context.Context, s *pool.Session) (err error) {
			ahead, err = counter.Ahead(ctx, s.Conn, p, pos)
			return err
		})
	})
	if err != nil {
		return false, fmt.Errorf("look for a row at the position: %w", err)
	}
	return ahead, nil
}

// holdAgainst looks whether a position is ahead of what the engine, or the change table, has counted.
func (c *Cursor) holdAgainst(ctx context.Context, s *pool.Session, p *plan.Plan, at change.Cursor,
	pos keyset.Position) (gap error, warning string, err error) {
	if p.Tracked != nil {
		gap, err = c.tracked(p).Gap(ctx, s.Conn, at)
		return gap, "", err
	}
	if p.History != nil {
		gap, err = c.tracked(p).HistoryGap(ctx, s.Conn, at)
		if gap != nil || err != nil || !p.Counted(at) { // the floor may well be above all rows
			return gap, "", err
		}
	}
	if !p.Counted(at) {
		warning, err = counter.Named(ctx, s.Conn, p, at, pos)
		return nil, warning, err
	}
	return counter.Gap(ctx, s.Conn, p, c.name(), at, pos)
}

// Compare says how the database that answered is related to the one that a position was read in, by their incarnations,
// and what is to be recorded of both: what is not shown any more stays.
func (c *Cursor) Compare(was, is string) (checkpointed.Relation, string) {
	found, record := engine.Compare(c.dialect, was, is)
	switch found {
	case engine.SameDatabase:
		return checkpointed.SameDatabase, record
	case engine.FailedOver:
		return checkpointed.FailedOver, record
	default:
		return checkpointed.AnotherDatabase, record
	}
}

// Replaced is asked when the table's identity is not the one that a position was read in. What stands after the
// position is delivered all the same; only rows at or below it, which came with the new table, would never be seen.
//
//   - PostgreSQL's oid and SQL Server's object_id stay through TRUNCATE, VACUUM FULL, ALTER TABLE and whatever rewrites a table; they
//     change when it is dropped and made again, or another one takes its name. With rows at or below the position that is a gap.
//   - MySQL's CREATE_TIME changes with every rebuild as well (ALTER TABLE, OPTIMIZE; not TRUNCATE), and SQLite's schema
//     version with every change of the schema. That must not stop a poller: it is a warning. VACUUM alone raises the
//     version by one, and a table that is dropped and made again by two at least: less is nothing to tell.
//
// Without such rows it is a warning, for those that the old one had after the position: a table may be renamed and made
// anew each month, before the last of it were read.
//
// Where positions are row versions, what a new table holds was written after them, and is seen. Transactions that a
// dump brought back are old ones: its rows come before the trigger that would set them.
func (c *Cursor) Replaced(ctx context.Context, at change.Cursor, was, is string) (warning string, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		warning, err = c.replaced(ctx, p, at, was, is)
		return err
	})
	return warning, err
}

func (c *Cursor) replaced(ctx context.Context, p *plan.Plan, at change.Cursor, was, is string) (warning string,
	err error) {
	switch {
	case p.History != nil && p.Syntax.OnlyRebuilt != nil: // the whole schema's, which rowrelay track install changes
		return "", nil
	case p.Tracked != nil || p.History != nil:
		return c.tracked(p).Rebuilt(was, is)
	}
	fresh := !p.ByWindows() && p.Sel.Order[0].Value.Kind == engine.KindRowVersion
	if at.IsStart() || fresh || p.Syntax.OnlyRebuilt != nil && p.Syntax.OnlyRebuilt(was, is) {
		return "", nil
	}
	below, err := c.CountUpTo(ctx, change.Range{UpTo: at}, 1)
	if err != nil {
		return "", err
	}
	said := fmt.Sprintf("%s: the table is not the one that the position %s was read in (%s, now %s): it was ", c.name(), at,
		was, is)
	if p.Syntax.Rebuilds {
		said += "rebuilt, or made anew"
	} else {
		said += "dropped and made anew, or another one took its name"
	}
	switch {
	case below == 0:
		return said + ". Where it is another table, what the old one had after the position is not delivered", nil
	case p.Syntax.Rebuilds:
		return said + ". If it was made anew and filled again, rows at or below the position were never seen: start again with " +
			keyset.StartAgain, nil
	}
	return "", fmt.Errorf("%w: %s, and rows that stand at or below the position there were never seen", poller.ErrGap, said)
}
