package source

import (
	"context"
	"github.com/rowrelay/rowrelay/engine"
	"strings"
	"time"
)

// CursorColumn is what the catalog says of a column of the cursor.
type CursorColumn struct {
	Name, Type string
	// Nullable is what the catalog says; every column of a query counts as nullable. Query says that it is one's.
	Nullable, Query bool
	// Moved says how updates are known to move the column; "" where nothing says that they do.
	Moved string
	// Step is the resolution of a time: two writes within it may have one value. 0: no time, or one that SQLite stores as it comes.
	Step time.Duration
	// Float says that values are binary floating point.
	Float bool
}

// CursorColumns describes the cursor's columns.
func (c *Cursor) CursorColumns(ctx context.Context) ([]CursorColumn, error) {
	if _, err := c.Describe(ctx); err != nil {
		return nil, err
	}
	p, _, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	columns := make([]CursorColumn, 0, p.sel.cursors)
	for i := range p.sel.order[:p.sel.cursors] {
		col := &p.sel.order[i]
		columns = append(columns, CursorColumn{
			Name: col.Name, Type: col.Type, Nullable: col.Nullable, Query: p.sel.query != "" || p.table.View,
			Moved: movedBy(col), Step: stepOf(&p.syntax, col), Float: col.Value.Kind == engine.KindFloat,
		})
	}
	return columns, nil
}

// stepOf is the resolution of a column's times.
func stepOf(s *engine.Syntax, col *engine.Column) time.Duration {
	switch {
	case !col.Value.Kind.IsTime() || s.StoredTimes:
		return 0
	case col.Value.Kind == engine.KindDate:
		return 24 * time.Hour
	}
	return s.Step(strings.ToLower(col.Type))
}
