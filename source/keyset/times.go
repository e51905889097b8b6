package keyset

import (
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// The statements that look at stored times as text. They are SQLite's: no other engine stores times so.

// NumbersBelow reads one row whose stored time in order column i is a number of a smaller unit: below that unit's end,
// and none that is of any.
func (s *Selection) NumbersBelow(i int, limit float64) Statement {
	b := NewBuilder(s.Syntax)
	b.SelectFrom(s, s.Order, 1)
	name := s.Column(s.Order[i])
	b.Add("\nWHERE " + name + " >= " + number(timeform.JulianFirst) + " AND " + name + " < ")
	b.Value(&s.Order[i], limit)
	b.Add(" AND (" + name + " < " + number(timeform.JulianEnd) + " OR " + name + " >= " + number(timeform.Units[0]) + ")")
	b.userWhere(s, " AND ")
	b.Limit(1)
	return b.Statement()
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// OtherForm reads the rows, in their order, whose stored time in order column i is text of another form, from a day on
// up to a value; of all text without the two.
func (s *Selection) OtherForm(i int, f timeform.Form, rules timeform.Rules, day string, upTo any) Statement {
	return s.ofForm(i, f, rules, "NOT ", day, upTo)
}

// OwnForm reads those whose stored time is of the form.
func (s *Selection) OwnForm(i int, f timeform.Form, rules timeform.Rules, day string, upTo any) Statement {
	return s.ofForm(i, f, rules, "", day, upTo)
}

func (s *Selection) ofForm(i int, f timeform.Form, rules timeform.Rules, not, day string, upTo any) Statement {
	b := NewBuilder(s.Syntax)
	col := &s.Order[i]
	name := s.Column(*col)
	b.SelectFrom(s, s.Order, 0)
	b.Add("\nWHERE " + name + " >= ")
	b.Value(col, day)
	if upTo != nil {
		b.Add(" AND " + name + " < ")
		b.Value(col, upTo)
	}
	b.Add(" AND " + not + "(" + s.isForm(b, col, f, rules) + ")")
	b.userWhere(s, " AND ")
	b.Add("\nORDER BY " + name)
	return b.Statement()
}

// isForm is the condition that a stored time is text of a form; see Split.
func (s *Selection) isForm(b *Builder, col *engine.Column, f timeform.Form, rules timeform.Rules) string {
	name := s.Column(*col)
	if f.Sep == timeform.DateAlone {
		return "length(" + name + ") = 10"
	}
	zone := "substr(ltrim(substr(" + name + ", 12), '" + timeform.ClockBytes + "'), 1, " +
		strconv.Itoa(len(timeform.BlankZone)) + ")"
	if f.Zone == "" && rules.Utc {
		zone += " IN ('', '" + strings.Join(timeform.UtcZones, "', '") + "')"
	} else {
		zone += " = " + b.Own(*col, f.Zone)
	}
	text := "length(" + name + ") > 10 AND substr(" + name + ", 11, 1) = " + b.Own(*col, string(f.Sep)) + " AND " + zone
	if f.Width > 0 && rules.Lengths {
		text += " AND length(" + name + ") = " + strconv.Itoa(f.Width)
	}
	return text
}

// Between reads the values of order column i from one on and below another, in their order.
func (s *Selection) Between(i int, from, upTo any) Statement {
	b := NewBuilder(s.Syntax)
	col := &s.Order[i]
	b.SelectFrom(s, []engine.Column{*col}, 0)
	b.Add("\nWHERE " + s.Column(*col) + " >= ")
	b.Value(col, from)
	b.Add(" AND " + s.Column(*col) + " < ")
	b.Value(col, upTo)
	b.userWhere(s, " AND ")
	b.Add("\nORDER BY " + s.Column(*col))
	return b.Statement()
}
