package source

import (
	"github.com/rowrelay/rowrelay/engine"
	"strconv"
	"strings"
)

// The statements that look at stored times as text. They are SQLite's: no other engine stores times so.

// numbersBelow reads one row whose stored time in order column i is a number of a smaller unit: below that unit's end, and
// none that is of any.
func (s *selection) numbersBelow(i int, limit float64) statement {
	b := newBuilder(s.syntax)
	b.selectFrom(s, s.order, 1)
	name := s.column(s.order[i])
	b.add("\nWHERE " + name + " >= " + sqlNumber(julianFirst) + " AND " + name + " < ")
	b.value(&s.order[i], limit)
	b.add(" AND (" + name + " < " + sqlNumber(julianEnd) + " OR " + name + " >= " + sqlNumber(units[0]) + ")")
	b.userWhere(s, " AND ")
	b.limit(1)
	return b.statement()
}

func sqlNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// otherForm reads the rows, in their order, whose stored time in order column i is text of another form, from a day on up
// to a value; of all text without the two.
func (s *selection) otherForm(i int, f timeForm, rules formRules, day string, upTo any) statement {
	return s.ofForm(i, f, rules, "NOT ", day, upTo)
}

// ownForm reads those whose stored time is of the form.
func (s *selection) ownForm(i int, f timeForm, rules formRules, day string, upTo any) statement {
	return s.ofForm(i, f, rules, "", day, upTo)
}

func (s *selection) ofForm(i int, f timeForm, rules formRules, not, day string, upTo any) statement {
	b := newBuilder(s.syntax)
	col := &s.order[i]
	name := s.column(*col)
	b.selectFrom(s, s.order, 0)
	b.add("\nWHERE " + name + " >= ")
	b.value(col, day)
	if upTo != nil {
		b.add(" AND " + name + " < ")
		b.value(col, upTo)
	}
	b.add(" AND " + not + "(" + s.isForm(b, col, f, rules) + ")")
	b.userWhere(s, " AND ")
	b.add("\nORDER BY " + name)
	return b.statement()
}

// isForm is the condition that a stored time is text of a form; see splitTime.
func (s *selection) isForm(b *builder, col *engine.Column, f timeForm, rules formRules) string {
	name := s.column(*col)
	if f.sep == dateAlone {
		return "length(" + name + ") = 10"
	}
	zone := "substr(ltrim(substr(" + name + ", 12), '" + clockBytes + "'), 1, " + strconv.Itoa(len(blankZone)) + ")"
	if f.zone == "" && rules.utc {
		zone += " IN ('', '" + strings.Join(utcZones, "', '") + "')"
	} else {
		zone += " = " + b.own(*col, f.zone)
	}
	text := "length(" + name + ") > 10 AND substr(" + name + ", 11, 1) = " + b.own(*col, string(f.sep)) + " AND " + zone
	if f.width > 0 && rules.lengths {
		text += " AND length(" + name + ") = " + strconv.Itoa(f.width)
	}
	return text
}

// between reads the values of order column i from one on and below another, in their order.
func (s *selection) between(i int, from, upTo any) statement {
	b := newBuilder(s.syntax)
	col := &s.order[i]
	b.selectFrom(s, []engine.Column{*col}, 0)
	b.add("\nWHERE " + s.column(*col) + " >= ")
	b.value(col, from)
	b.add(" AND " + s.column(*col) + " < ")
	b.value(col, upTo)
	b.userWhere(s, " AND ")
	b.add("\nORDER BY " + s.column(*col))
	return b.statement()
}
