package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/spelling"
)

// Where a position stands that names a cursor's value and no key.
const (
	// TiesBefore: in front of every row of that value, which all come again.
	TiesBefore = "before"
	// TiesAfter: after every row of that value, of which none comes.
	TiesAfter = "after"
)

// Latest returns the position of the last row there is now: the beginning where there is none.
func (c *Cursor) Latest(ctx context.Context) (last change.Cursor, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		return c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			last, err = c.strategy(p).latest(ctx, s)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("find the latest position: %w", err)
	}
	return last, nil
}

// Position makes a position of what a person types: a cursor's value, written as source__start is (a JSON array for a
// composite cursor), and either the value of every key column (rows come after that row, which need not exist any more;
// a key column that is part of the cursor may be left out), or ties, TiesBefore or TiesAfter, for a value as a whole.
// Where the cursor holds the key, or is unique for every write, the value alone says it, and TiesAfter is meant.
//
// TiesBefore is the position of the last row below the value, as the table is now, or the beginning where there is
// none: positions come after something, and this one needs no form of its own. A row that is written later between that
// row and the value comes as well.
//
// Errors wrap poller.ErrConfig where the values are at fault.
func (c *Cursor) Position(ctx context.Context, cursor string, key map[string]string, ties string) (at change.Cursor,
	err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		at, err = c.strategy(p).position(ctx, cursor, key, ties)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the position: %w", err)
	}
	return at, nil
}

// Before returns the position of the last row below one's cursor, or the beginning where there is none: from there the
// row comes again, wherever it stands by now. Rows that share its cursor come as well. It is not known of a row of a
// snapshot that was not written since changes are recorded: no position brings that.
func (c *Cursor) Before(ctx context.Context, row change.Cursor) (at change.Cursor, known bool, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		if known = p.Whole == nil || !plan.Unwritten(row); known {
			at, err = c.strategy(p).before(ctx, row)
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("find the position before %s: %w", row, err)
	}
	return at, known, nil
}

// lastBelow finds the position of the last row whose cursor is below the values.
func (c *Cursor) lastBelow(ctx context.Context, p *plan.Plan, values [][]byte) (at change.Cursor, err error) {
	value, err := c.placed(ctx, p, p.AppendCursor(nil, values, nil))
	if err != nil {
		return nil, err
	}
	pos, err := p.Decode(value)
	if err != nil {
		return nil, err
	}
	st := p.Sel.Below()
	args, err := p.Args(st, pos, nil)
	if err != nil {
		return nil, err
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		at = nil
		return c.dialect.Read(ctx, s.Conn, st.Text, args, p.Sel.Order, func(r engine.Row) (bool, error) {
			at, err = collect.CursorOf(p, r)
			return false, err
		})
	})
	return at, err
}

// Foreign makes a position of what azure-functions-db stores of one: the value of its cursor_column and those of its
// pk_columns, as Python writes them to JSON, without names. keys are the names of pk_columns, needed where there are
// several: a key in another order is another order of rows. Errors wrap poller.ErrConfig where the position would not
// be the same, and say what to do.
func (c *Cursor) Foreign(ctx context.Context, parts []json.RawMessage, keys []string) (at change.Cursor, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		if at, err = p.Foreign(parts, keys); err != nil {
			return fmt.Errorf("%w: %w", poller.ErrConfig, err)
		}
		if err = c.checkRounding(ctx, p, parts); err != nil {
			return err
		}
		at, err = c.placed(ctx, p, at)
		return err
	})
	return at, err
}

// InForm returns a position of another program's with its stored times as the table's own rows have them.
func (c *Cursor) InForm(ctx context.Context, at change.Cursor) (in change.Cursor, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		if p.ByWindows() {
			in = at
			return nil
		}
		in, err = c.placed(ctx, p, at)
		return err
	})
	return in, err
}

// placed is a position that a person or another program gave, with its stored times as the table's own rows have them.
func (c *Cursor) placed(ctx context.Context, p *plan.Plan, at change.Cursor) (change.Cursor, error) {
	if !p.StoredTimes {
		return at, nil
	}
	err := c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) (err error) {
		at, err = spelling.Adopt(ctx, s.Conn, p, c.cfg.TimeZone, at)
		return err
	})
	return at, err
}

// checkRounding refuses a position that SQLAlchemy has rounded: of a NUMERIC(12,3) in SQLite it reads three digits,
// whatever is stored.
func (c *Cursor) checkRounding(ctx context.Context, p *plan.Plan, parts []json.RawMessage) error {
	col := &p.Sel.Order[0]
	var text string
	if !p.StoredTimes || col.Value.Kind != engine.KindDecimal || json.Unmarshal(parts[0], &text) != nil {
		return nil //nolint:nilerr // a number, not a Decimal, is what is stored
	}
	at, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil //nolint:nilerr // told before
	}
	_, fraction, _ := strings.Cut(text, ".")
	half := 0.5 * math.Pow10(-len(fraction))
	st := p.Sel.Between(0, at-half, at+half)
	args, err := p.Args(st, nil, nil)
	if err != nil {
		return err
	}
	return c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		var other error
		err := c.dialect.Read(ctx, s.Conn, st.Text, args, []engine.Column{*col}, func(r engine.Row) (bool, error) {
			v, err := r.AppendJSON(nil, 0)
			if err != nil {
				return false, err
			}
			if n, err := strconv.ParseFloat(strings.Trim(string(v), `"`), 64); err == nil && n != at {
				other = fmt.Errorf("%w: it has %q for column %q, and the table holds %s: azure-functions-db has rounded it, "+
					"and which row it stands for is not known; begin with source__start, at a value below both",
					poller.ErrConfig, text, col.Name, v)
			}
			return other == nil, nil
		})
		return errors.Join(err, other)
	})
}

// Count returns how many rows a range holds, for operators: it reads all of them, is bounded by ctx and not by
// source__timeout, and does not repeat itself. Range.Unsafe has no effect: all rows count that are visible.
func (c *Cursor) Count(ctx context.Context, r change.Range) (n int64, err error) {
	return c.count(ctx, r, 0, c.sessions.Patiently)
}

// CountUpTo is Count for what looks every few seconds: it stops at most, and is bounded by source__timeout.
func (c *Cursor) CountUpTo(ctx context.Context, r change.Range, most int) (n int64, err error) {
	return c.count(ctx, r, most, c.sessions.Run)
}

func (c *Cursor) count(ctx context.Context, r change.Range, most int,
	run func(context.Context, func(context.Context, *pool.Session) error) error) (n int64, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		st, args, err := c.strategy(p).count(r, most)
		if err != nil {
			return err
		}
		return run(ctx, func(ctx context.Context, s *pool.Session) error {
			return engine.EachRow(ctx, s.Conn, st.Text, args, func(scan func(...any) error) error { return scan(&n) })
		})
	})
	if err != nil {
		return 0, fmt.Errorf("count rows: %w", err)
	}
	return n, nil
}

// BeforeLatest returns the position of a row that at least so many rows come after, or the beginning where there are
// fewer. It is for source__start=latest only: asked says whether that was set.
func (c *Cursor) BeforeLatest(ctx context.Context, rows int) (low change.Cursor, asked bool, err error) {
	if c.cfg.Start != "latest" {
		return nil, false, nil
	}
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		return c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			low = nil
			n := 0
			newest := p.Sel.Newest(rows+1, true)
			return c.dialect.Read(ctx, s.Conn, newest.Text, nil, p.Sel.Order, func(r engine.Row) (bool, error) {
				if n++; n <= rows {
					return true, nil
				}
				low, err = collect.CursorOf(p, r)
				return false, err
			})
		})
	})
	if err != nil {
		return nil, true, fmt.Errorf("find the rows before the latest: %w", err)
	}
	return low, true, nil
}

// prove shows that source__where can be run, which the catalog does not: on one row, whether it chooses that or not. To
// look for one that it chooses could take longer than source__timeout.
func (c *Cursor) prove(ctx context.Context, s *pool.Session, p *plan.Plan, after change.Cursor) error {
	if p.Marked != nil {
		p, after = p.Marked, nil
	}
	return c.strategy(p).prove(ctx, s, after)
}

// Start returns the position of a poller without a document: the beginning (earliest); the largest (cursor, key) there
// is now (latest), which is the beginning when the table is empty; or, for a cursor value, the position after every row
// whose cursor is not above it; and the incarnation of the database that the position was found in.
func (c *Cursor) Start(ctx context.Context) (start change.Cursor, incarnation string, err error) {
	p, err := c.current(ctx)
	if err != nil {
		return nil, "", err
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		how := c.strategy(p)
		find := how.start
		if c.cfg.Start == "latest" || c.cfg.Start == "snapshot" && p.Whole != nil {
			find = how.latest // a snapshot's rows are read beside the changes from now on: see Snapshot
		}
		if start, err = find(ctx, s); err != nil {
			return err
		}
		// A document that was made for a condition that cannot be run would hold its fingerprint: a corrected one would
		// then look like another source.
		if err := c.prove(ctx, s, p, start); err != nil {
			return err
		}
		err = c.dialect.Refresh(ctx, s.Conn, &s.Server)
		incarnation = s.Server.Incarnation
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("find the start: %w", err)
	}
	return start, incarnation, nil
}
