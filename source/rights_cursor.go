package source

import (
	"context"
	"regexp"
	"strconv"
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
			Name: col.name, Type: col.typ, Nullable: col.nullable, Query: p.sel.query != "" || p.table.view,
			Moved: movedBy(col), Step: stepOf(c.dialect.engine(), col), Float: col.value.kind == kindFloat,
		})
	}
	return columns, nil
}

var precisionOf = regexp.MustCompile(`\((\d)\)`)

// stepOf is the resolution of a column's times, as its type says it.
func stepOf(engine string, col *column) time.Duration {
	name, _, _ := strings.Cut(strings.ToLower(col.typ), "(")
	switch {
	case !col.value.kind.isTime() || engine == engineSQLite:
		return 0
	case col.value.kind == kindDate:
		return 24 * time.Hour
	case engine == engineSQLServer && name == "datetime":
		return 10 * time.Millisecond / 3
	case engine == engineSQLServer && name == "smalldatetime":
		return time.Minute
	}
	digits := map[string]int{engineSQLServer: 7, enginePostgres: 6, engineMySQL: 0}[engine]
	if m := precisionOf.FindStringSubmatch(col.typ); m != nil {
		digits, _ = strconv.Atoi(m[1]) // one digit, by the pattern
	}
	step := time.Second
	for range digits {
		step /= 10
	}
	return step
}
