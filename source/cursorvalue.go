package source

import (
	"fmt"
	"time"
)

// checkCursor refuses a value of the n-th cursor column that is no position, or none behind the one before it.
func (c *collector) checkCursor(n int, col *column, v []byte) error {
	if err := c.plan.checkCursorValue(col, v); err != nil {
		return err
	}
	if !c.plan.storedTimes || !col.value.kind.isTime() {
		return nil
	}
	if c.class == nil {
		c.class = make([]byte, len(c.plan.cursor))
	}
	class := classOf(v)
	if before := c.class[n]; before != 0 && before != class {
		return errMixedTimes(col, v)
	}
	c.class[n] = class
	return nil
}

// classes are those of a position's stored times.
func (p *plan) classes(pos position) []byte {
	if !p.storedTimes || pos == nil {
		return nil
	}
	class := make([]byte, len(p.cursor))
	for n := range p.cursor {
		class[n] = classOf(pos[n])
	}
	return class
}

// classOf tells stored text from a number, which is quoted beyond 2^53.
func classOf(v []byte) byte {
	if v[0] != '"' {
		return '0'
	}
	if _, integer := bigInteger(string(v[1 : len(v)-1])); integer {
		return '0'
	}
	return '"'
}

// errMixedTimes reports a stored time of another class than the position's. SQLite sorts every number before every text:
// behind the first text, no number is ever seen.
func errMixedTimes(col *column, v []byte) error {
	is, others := "text", "numbers"
	if classOf(v) != '"' {
		is, others = "a number", "text"
	}
	return fmt.Errorf("column %q of type %s holds %.60s, which is %s, behind times that are %s: SQLite sorts every number before every text, "+
		"so that rows would be passed over; write all of the column's times in one form, or exclude the others by source__where", col.name, col.typ, v, is, others)
}

// checkCursorValue refuses what sorts after every value to come: text in a column of numbers in SQLite, and text in a
// column of times that is no time; NaN and infinity in PostgreSQL. A position there would silently pass over all further
// rows.
func (p *plan) checkCursorValue(col *column, v []byte) error {
	var last bool
	switch k := col.value.kind; {
	case v[0] != '"':
	case k == kindInteger, k == kindDecimal:
		last = !isDecimal(string(v[1:len(v)-1]), true) && string(v) != `"-Infinity"`
	case k.isTime() && p.storedTimes:
		if _, ok := parseTime(v, time.UTC); !ok && classOf(v) == '"' {
			return fmt.Errorf("column %q of type %s holds %.60s, which is no time (such as 2026-04-07 01:23:45): its place among times is any, and rows would be passed over; "+
				"correct the row, or exclude it by source__where", col.name, col.typ, v)
		}
	case k.isTime():
		last = string(v) == `"infinity"`
	}
	if !last {
		return nil
	}
	return fmt.Errorf("column %q of type %s holds %.60s, which sorts after all values to come: no row behind it would ever be delivered; "+
		"correct the row, or exclude it by source__where", col.name, col.typ, v)
}

// errNullKey reports a row that its key does not identify.
func errNullKey(key []byte) error {
	return fmt.Errorf("a row's key is NULL: %s; source__key must name columns that are never NULL", key)
}
