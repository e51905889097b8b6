package keyset

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// Count counts the rows of a span, up to most; 0 is no bound.
func (s *Selection) Count(in Span, most int) Statement {
	b := NewBuilder(s.Syntax)
	b.Counted(most, func() {
		b.From(s)
		b.Conditions(s, in)
	})
	return b.Statement()
}

// Counted writes the count of what rows writes from its FROM on, up to most; 0 is no bound.
func (b *Builder) Counted(most int, rows func()) {
	if b.Syntax.Top {
		b.Add("SELECT COUNT_BIG(*)") // COUNT is an int
	} else {
		b.Add("SELECT COUNT(*)")
	}
	if most == 0 {
		rows()
		return
	}
	b.Add("\nFROM (")
	b.selectColumns([]engine.Column{{Name: "n"}}, most, func(c engine.Column) string { return "1 AS " + c.Name })
	rows()
	b.Limit(most)
	b.Add("\n) AS c")
}

// Nulls counts the rows that have NULL in a nullable column of the cursor, or else of the key. It is the empty
// statement where no such column can be NULL.
func (s *Selection) Nulls(cursor bool) Statement {
	var tests []string
	for i, c := range s.Order {
		if c.Nullable && (i < s.Cursors) == cursor {
			tests = append(tests, s.Column(c)+" IS NULL")
		}
	}
	if len(tests) == 0 {
		return Statement{}
	}
	b := NewBuilder(s.Syntax)
	b.Add("SELECT COUNT(*)")
	b.From(s)
	b.Add("\nWHERE ")
	if len(tests) == 1 {
		b.Add(tests[0])
	} else {
		b.Add("(" + strings.Join(tests, " OR ") + ")")
	}
	b.userWhere(s, " AND ")
	return b.Statement()
}
