package publisher

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/mapping"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// mapped completes what is known of another framework's table.
func (c *catalog) mapped(ctx context.Context, t *engine.Table, o *opened) error {
	cfg := &c.cfg
	if cfg.Strategy != "" && cfg.Strategy != claims.Leader {
		return fmt.Errorf("%w: source__strategy=%s needs the columns of `rowrelay outbox init`, and %s is mapped: leave source__strategy out, or "+
			"write leader", poller.ErrConfig, cfg.Strategy, o.Table)
	}
	l, err := mapping.Read(cfg.Map, o.Table, c.columns(t), c.texts.textTimes)
	if err != nil {
		return err
	}
	side := rows.SideOf(c.claims)
	found, err := c.lookFor(ctx, side)
	if err != nil {
		return err
	}
	if found == "" {
		return fmt.Errorf("%w: there is no table %s, where the failed events of the mapped table %s are kept: run `rowrelay outbox init %s --beside --apply`",
			poller.ErrConfig, side, o.Table, cfg.Poller)
	}
	if err := proveID(t, o.Table, l.ID.Name); err != nil {
		return err
	}
	if most := c.texts.longestID; most > 0 && !l.ID.Fits(most) {
		return fmt.Errorf("%w: source__map__id: column %s of %s is %s, and the table of failed events holds ids of up to %d characters: "+
			"name another unique column, or make it shorter", poller.ErrConfig, l.ID.Name, o.Table, l.ID.Type, most)
	}
	held := c.claimsOf(o.Table, 1)
	events := func(index string) *rows.Table {
		return rows.Mapped(c.db, c.texts.values, l, c.outbox, side, index, c.rowsConfig(), held)
	}
	o.Warnings = append(o.Warnings, l.Warnings...)
	for _, index := range l.Serving(t.Indexes) {
		o.events = events(index)
		if serves, err := c.serves(ctx, o.events); serves || err != nil {
			return err
		}
	}
	o.events = events("")
	if pending, order := l.Search(); !t.View && order != nil {
		o.warn("no index of %s holds what is to be published in its order, so that each poll reads and "+
			"sorts all of it: create one on (%s), or on (%s) for those rows alone", o.Table,
			strings.Join(append(pending, order...), ", "), strings.Join(order, ", "))
	}
	return nil
}

// columns are what a mapping is made of. SQLite calls a column of the primary key nullable that nobody means to be.
func (c *catalog) columns(t *engine.Table) []column.Column {
	list := make([]column.Column, len(t.Columns))
	for i := range t.Columns {
		is := &t.Columns[i]
		list[i] = column.Column{Name: is.Name, Type: cmp.Or(is.Base, is.Type),
			Nullable: is.Nullable && !slices.Contains(t.PrimaryKey, is.Name)}
		if list[i].Kind = c.texts.kind(list[i].Type); is.Enum {
			list[i].Kind = column.Text
		}
	}
	return list
}

// serves tries whether the index that a table's statements name can be used for them. An error that says nothing about
// the index is none of its own.
func (c *catalog) serves(ctx context.Context, events *rows.Table) (bool, error) {
	if c.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	err := events.Served(ctx, c.db.Pool)
	if err != nil && (ctx.Err() != nil || engine.Transient(c.conn.Dialect, err)) {
		return false, c.explain("try the index of pending events", err)
	}
	return err == nil, nil
}

// proveID refuses a mapped table whose id may stand in two rows: they would be marked together, and one never sent.
func proveID(t *engine.Table, table, id string) error {
	if t.Unique([]string{id}) != "" {
		return nil
	}
	return fmt.Errorf("%w: source__map__id: no primary key and no unique index of %s proves that %s stands in one row only; two with the same "+
		"would be marked as published together, and one of them never sent: create a unique index on %[3]s, or name another column",
		poller.ErrConfig, table, id)
}
