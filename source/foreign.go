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
	"github.com/rowrelay/rowrelay/source/plan"
)

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
	return c.run(ctx, func(ctx context.Context, s *session) error {
		var other error
		err := c.dialect.Read(ctx, s.conn, st.Text, args, []engine.Column{*col}, func(r engine.Row) (bool, error) {
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
