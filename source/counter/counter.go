// Package counter holds a position against what the engine counts a column up by: an identity, a sequence,
// AUTO_INCREMENT, @@DBTS. A position that is ahead of its counter was read before the table was emptied, its counter
// set back, or the database restored: what comes next stands below it and is never seen.
//
// It asks the database by the connection that it is given, one to three statements for each look, and remembers
// nothing.
package counter

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Gap holds a position against the counter of its first column. gap wraps poller.ErrGap where rows to come would stand
// below the position and never be seen. warning is for people, where that may be so: a value above the counter stands
// in the table, or no row stands at the position any more. source is the source for messages; pos is at, decoded.
func Gap(ctx context.Context, conn *sql.Conn, p *plan.Plan, source string, at change.Cursor,
	pos keyset.Position) (gap error, warning string, err error) {
	col := &p.Sel.Order[0]
	var n engine.Counter
	if k := col.Value.Kind; k == engine.KindInteger || k == engine.KindRowVersion {
		if n, err = p.Dialect.Counter(ctx, conn, &p.Table, col); err != nil {
			return nil, "", err
		}
	}
	ahead := isAhead(pos[0], n.Highest)
	if ahead && col.Value.Kind == engine.KindRowVersion {
		return errGap(source, at, n), "", nil // nobody writes one
	}
	if !ahead && p.IndexName == "" {
		return nil, "", nil // to look for a row could read the whole table
	}
	above, err := anyFrom(ctx, conn, p, pos)
	switch {
	case err != nil || above && !ahead:
		return nil, "", err
	case !ahead:
		return nil, fmt.Sprintf("no row of %s stands at the position %s or above it: rows were deleted since, or the table was restored or filled anew; "+
			"if so, start again with: %s", p.Table.Name, at, keyset.StartAgain), nil
	}
	if !above && n.Loose {
		// The counter rules this column only if what stands in it came from there.
		highest, err := highest(ctx, conn, p)
		if err != nil {
			return nil, "", err
		}
		above = highest == nil || isAhead(highest, n.Highest)
	}
	if above {
		return nil, fmt.Sprintf("the position %s is ahead of %s, which is at %s, by a value that was written explicitly: rows that take theirs from there "+
			"will not be seen until it has passed the position; raise it (setval, DBCC CHECKIDENT, ALTER TABLE … AUTO_INCREMENT)", at, n.Name, n.Highest), nil
	}
	return errGap(source, at, n), "", nil
}

// Named holds a position against the rows that there are, where no row gave it: a person did, or a moment. A position
// by row versions that are committed is often above all rows, and none comes below it.
func Named(ctx context.Context, conn *sql.Conn, p *plan.Plan, at change.Cursor, pos keyset.Position) (warning string,
	err error) {
	if p.IndexName == "" || p.Late.Exact == plan.ExactWatermark {
		return "", nil // to look for a row could read the whole table
	}
	ahead, err := Ahead(ctx, conn, p, pos)
	if err != nil || !ahead {
		return "", err
	}
	return fmt.Sprintf("no row of %s stands at the position %s or above it: rows that come below it are "+
		"never delivered. If nobody meant that (source__start, rowrelay state reset), start again with: %s",
		p.Table.Name, at, keyset.StartAgain), nil
}

// Ahead reports whether no row of the table, source__where or not, has the position's cursor or a higher one.
func Ahead(ctx context.Context, conn *sql.Conn, p *plan.Plan, pos keyset.Position) (bool, error) {
	found, err := anyFrom(ctx, conn, p, pos)
	return !found && err == nil, err
}

func errGap(source string, at change.Cursor, n engine.Counter) error {
	return fmt.Errorf("%w: %s: the position %s is ahead of %s, which is at %s: the table was emptied, its counter set back, or the database restored, "+
		"and rows to come would stand below the position and never be seen. Deliver every row again: %s; "+
		"or go on after the last row that there is now: rowrelay state accept-gap %s", poller.ErrAhead, source, at, n.Name,
		n.Highest, keyset.StartAgain, poller.AnyDocument)
}

// anyFrom reports whether any row of the table, source__where or not, has the position's cursor or a higher one.
func anyFrom(ctx context.Context, conn *sql.Conn, p *plan.Plan, pos keyset.Position) (found bool,
	err error) {
	st := p.Sel.FromCursor()
	args, err := p.Args(st, pos, nil)
	if err != nil {
		return false, err
	}
	err = p.Dialect.Read(ctx, conn, st.Text, args, p.Sel.Order, func(engine.Row) (bool, error) {
		found = true
		return false, nil
	})
	if err != nil {
		return false, fmt.Errorf("look for a row at the position: %w", err)
	}
	return found, nil
}

// highest is the largest value of the first cursor column; nil where the table is empty.
func highest(ctx context.Context, conn *sql.Conn, p *plan.Plan) (v []byte, err error) {
	err = p.Dialect.Read(ctx, conn, p.Sel.Latest().Text, nil, p.Sel.Order, func(r engine.Row) (bool, error) {
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
	at, err := Number(stored)
	if err != nil {
		return false
	}
	limit, ok := new(big.Int).SetString(highest, 10)
	return ok && at.Cmp(limit) > 0
}

// Number is an integer's value, or a rowversion's as the number that its 8 bytes are.
func Number(stored []byte) (*big.Int, error) {
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
