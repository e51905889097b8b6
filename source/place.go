package source

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/poller"
)

// Where a position stands that names a cursor's value and no key.
const (
	// TiesBefore: in front of every row of that value, which all come again.
	TiesBefore = "before"
	// TiesAfter: behind every row of that value, of which none comes.
	TiesAfter = "after"
)

// Latest returns the position of the last row there is now: the beginning where there is none.
func (c *Cursor) Latest(ctx context.Context) (last change.Cursor, err error) {
	err = c.byPlan(ctx, func(p *plan) error {
		return c.run(ctx, func(ctx context.Context, s *session) error {
			if p.late.exact == exactSnapshots {
				last, err = c.presentWindow(ctx, s, p)
				return err
			}
			last, err = c.latest(ctx, s, p)
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
// TiesBefore is the position of the last row below the value, as the table is now, or the beginning where there is none:
// positions come after something, and this one needs no form of its own. A row that is written later between that row and the
// value comes as well.
//
// Errors wrap poller.ErrConfig where the values are at fault.
func (c *Cursor) Position(ctx context.Context, cursor string, key map[string]string, ties string) (at change.Cursor, err error) {
	err = c.byPlan(ctx, func(p *plan) error {
		at, err = c.position(ctx, p, cursor, key, ties)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the position: %w", err)
	}
	return at, nil
}

func (c *Cursor) position(ctx context.Context, p *plan, cursor string, key map[string]string, ties string) (change.Cursor, error) {
	values, err := p.cursorValues("the cursor", cursor, &c.cfg)
	if err != nil {
		return nil, err
	}
	if p.late.exact == exactSnapshots {
		return c.windowPosition(ctx, p, values, key, ties)
	}
	keyColumns := columnNames(pick(p.sel.columns, p.key))
	switch {
	case ties != "" && ties != TiesBefore && ties != TiesAfter:
		return nil, fmt.Errorf("%w: ties are %q: they are %s or %s", poller.ErrConfig, ties, TiesBefore, TiesAfter)
	case ties != "" && len(key) > 0:
		return nil, fmt.Errorf("%w: a key names one row, and ties %s all of one value: give one of them", poller.ErrConfig, ties)
	case ties == TiesAfter, ties == "" && len(key) == 0 && p.uniqueCursor:
		return c.placed(ctx, p, p.appendCursor(nil, values, nil))
	case ties == TiesBefore:
		return c.lastBelow(ctx, p, values)
	case len(key) == 0 && len(p.sel.order) > p.sel.cursors:
		return nil, fmt.Errorf("%w: several rows may share the cursor %s: name the row by every column of its key (%s), or say whether the position is %s or %s all of them",
			poller.ErrConfig, cursor, strings.Join(keyColumns, ", "), TiesBefore, TiesAfter)
	}
	object, err := p.keyOf(key, values, &c.cfg)
	if err != nil {
		return nil, err
	}
	return c.placed(ctx, p, p.appendCursor(nil, values, object))
}

// windowPosition is the position for a source that reads by snapshots: before or after everything of a transaction. A row
// has no place of its own among the rows of snapshots.
func (c *Cursor) windowPosition(ctx context.Context, p *plan, values [][]byte, key map[string]string, ties string) (change.Cursor, error) {
	xid, err := cursorNumber(values[0])
	if err != nil || len(key) > 0 || ties != TiesBefore && ties != TiesAfter {
		return nil, fmt.Errorf("%w: source__late_commits=exact reads %q by snapshots, where a position is %s or %s all of a transaction: name one of them, and no key",
			poller.ErrConfig, p.sel.order[0].Name, TiesBefore, TiesAfter)
	}
	if ties == TiesBefore {
		xid.Sub(xid, big.NewInt(1))
	}
	wanted, err := p.snapshotOfRow(p.appendCursor(nil, [][]byte{change.AppendIntegerText(nil, xid.String())}, nil))
	if err != nil {
		return nil, fmt.Errorf("%w: the cursor: %w", poller.ErrConfig, err)
	}
	var now, lasting snapshot
	err = c.run(ctx, func(ctx context.Context, s *session) (err error) {
		now, lasting, err = c.present(ctx, s, p)
		return err
	})
	if err == nil && wanted.xmax > now.xmax {
		err = fmt.Errorf("%w: the server has come to transaction %d only", poller.ErrConfig, now.xmax)
	}
	if err != nil {
		return nil, err
	}
	return behind(lasting.below(wanted.xmax)), nil
}

// keyOf writes the key's object from what a person typed; the cursor's values are given.
func (p *plan) keyOf(typed map[string]string, values [][]byte, cfg *Config) ([]byte, error) {
	columns := pick(p.sel.columns, p.key)
	given := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(typed)) {
		i, err := findColumn(columns, name)
		if err != nil {
			return nil, fmt.Errorf("%w: the key: %w", poller.ErrConfig, err)
		}
		given[columns[i].Name] = typed[name]
	}
	object := []byte{'{'}
	for n := range columns {
		col := &columns[n]
		var inCursor []byte
		if i := slices.Index(p.cursor, p.key[n]); i >= 0 {
			inCursor = values[i]
		}
		text, named := given[col.Name]
		stored := inCursor
		if named {
			var err error
			if stored, err = p.typed("the key's "+col.Name, col, text, cfg); err != nil {
				return nil, err
			}
			if inCursor != nil && !sameValue(col.Value.Kind, stored, inCursor) {
				return nil, fmt.Errorf("%w: the key's %q is %s, and in the cursor it is %s: they are one column", poller.ErrConfig, col.Name, stored, inCursor)
			}
		}
		if stored == nil {
			return nil, fmt.Errorf("%w: the key has no %q: every column of the key is needed (%s)", poller.ErrConfig, col.Name, strings.Join(columnNames(columns), ", "))
		}
		if n > 0 {
			object = append(object, ',')
		}
		object = append(append(object, p.keyNames[n]...), stored...)
	}
	return append(object, '}'), nil
}

// lastBelow finds the position of the last row whose cursor is below the values.
func (c *Cursor) lastBelow(ctx context.Context, p *plan, values [][]byte) (at change.Cursor, err error) {
	value, err := c.placed(ctx, p, p.appendCursor(nil, values, nil))
	if err != nil {
		return nil, err
	}
	pos, err := p.decode(value)
	if err != nil {
		return nil, err
	}
	st := p.sel.below()
	args, err := p.args(st, pos, nil)
	if err != nil {
		return nil, err
	}
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		at = nil
		return c.dialect.Read(ctx, s.conn, st.text, args, p.sel.order, func(r engine.Row) (bool, error) {
			at, err = p.cursorOf(r)
			return false, err
		})
	})
	return at, err
}

// typed writes a value that a person typed as the JSON that a row would have, and proves that the engine takes it; what
// names it in the error.
func (p *plan) typed(what string, col *engine.Column, text string, cfg *Config) ([]byte, error) {
	text = strings.TrimSpace(text)
	stored, err := startScalar(col, text, cfg.TimeZone, p.storedTimes)
	switch {
	case col.Value.Kind == engine.KindBool && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")):
		stored = bytes.ToLower([]byte(text))
	case col.Value.Kind == engine.KindUUID && !p.storedTimes:
		stored = bytes.ToLower(stored)
	case col.Value.Kind == engine.KindRowVersion:
		if data, ok := p.rowVersion(col, stored); ok {
			stored = change.AppendBinary(nil, data) // as a row's own stands in its position, not as 0x…
		}
	case col.Value.Untyped && scalar.IsDecimal(text, false):
		stored = change.AppendIntegerText(nil, text)
	}
	if err == nil {
		_, err = p.dialect.Arg(col, stored)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s is %q, which is no value of column %q of type %s: %w", poller.ErrConfig, what, text, col.Name, col.Type, err)
	}
	return stored, nil
}

// rowVersion is what a rowversion's scalar says.
func (p *plan) rowVersion(col *engine.Column, stored []byte) ([]byte, bool) {
	arg, err := p.dialect.Arg(col, stored)
	if err != nil {
		return nil, false
	}
	data, ok := arg.([]byte)
	return data, ok
}
