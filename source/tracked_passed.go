package source

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Passed writes, for each of some positions, that a row of the change table was delivered before it: conditions on the
// change table, by its own name. A position at the beginning passed nothing: that is an error.
func (c *Cursor) Passed(ctx context.Context, positions []change.Cursor) (conditions []string, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		conditions = nil
		version := p.Table.Changes.In(p.Syntax.Quote, p.Table.Changes.Name) + "." + p.Sel.Syntax.Quote(p.Sel.Order[0].Name)
		for _, at := range positions {
			condition, err := passed(p, version, at)
			if err != nil {
				return fmt.Errorf("%w: the position %s: %w", poller.ErrConfig, at, err)
			}
			conditions = append(conditions, condition)
		}
		return nil
	})
	return conditions, err
}

// ChangeTable is the name of the change table, with its schema where there are schemas.
func (c *Cursor) ChangeTable(ctx context.Context) (name string, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		if p.BuiltIn() != nil {
			return fmt.Errorf("%w: there is no change table on %s: what is older than its retention goes by itself",
				poller.ErrConfig, p.Syntax.Name)
		}
		name = p.Table.Changes.In(p.Syntax.Quote, p.Table.Changes.Name)
		return nil
	})
	return name, err
}

var errNothingPassed = errors.New("changes are still read from the beginning, so that none may be removed")

func passed(p *plan.Plan, version string, at change.Cursor) (string, error) {
	if p.ByWindows() {
		w, err := p.Snapshots().Decode(at)
		if err == nil && (!w.Begun || w.Scanning) {
			err = errNothingPassed
		}
		return "pg_visible_in_snapshot(" + version + ", '" + w.Seen.String() + "'::pg_snapshot)", err
	}
	w, err := p.Within(at)
	switch {
	case err != nil:
		return "", err
	case w.Since == nil:
		return "", errNothingPassed
	}
	literal := strings.ReplaceAll(string(w.Since), `"`, "'")
	if literal == "" || strings.Trim(literal, "'-:.T0123456789") != "" {
		return "", fmt.Errorf("%s is no version", w.Since)
	}
	return version + " < " + literal, nil
}
