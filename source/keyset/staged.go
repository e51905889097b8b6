package keyset

import (
	"slices"

	"github.com/rowrelay/rowrelay/engine"
)

func costly(c engine.Column) bool { return c.Value.Costly }

// staged writes a page that chooses its rows before it computes what is costly, where anything is: no index gives
// changes in their order, so that all of them are read and sorted for each page.
func (b *Builder) staged(s *Selection, limit int, in Span) bool {
	if !slices.ContainsFunc(s.Columns, costly) {
		return false
	}
	b.selectColumns(s.Columns, limit, func(c engine.Column) string {
		if costly(c) {
			return s.projected(c)
		}
		return s.Column(c)
	})
	b.Add("\nFROM (")
	b.selectColumns(s.Columns, limit, func(c engine.Column) string {
		if costly(c) || c.Value.Expr == "" {
			return s.Column(c)
		}
		return s.projected(c) + " AS " + s.Syntax.Quote(c.Name)
	})
	b.From(s)
	b.Conditions(s, in)
	b.orderBy(s, "")
	b.Limit(limit)
	b.Add("\n) AS r")
	return true
}
