package sqlite

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Mapping is how SQLite writes what concerns mapped tables. It has no type for times: they are text, as they were
// stored.
type Mapping struct{ column.Mapping }

// Text casts a value to TEXT. Bytes become hex digits in upper case.
func (Mapping) Text(c *column.Column, expr string) string {
	if c.Kind == column.Bytes {
		expr = "HEX(" + expr + ")"
	}
	return "CAST(" + expr + " AS TEXT)"
}

// ID is Text where the column's affinity decides what a value is compared as. Where it does not, which is in a column
// of bytes and in one without a type, any other value than bytes has the name of its storage class before it.
func (d Mapping) ID(c *column.Column, expr string) string {
	if c.Kind != column.Bytes {
		return d.Text(c, expr)
	}
	return "CASE typeof(" + expr + ") WHEN 'blob' THEN HEX(" + expr + ") WHEN 'text' THEN 'text:' || " + expr +
		" ELSE typeof(" + expr + ") || ':' || quote(" + expr + ") END"
}

// Short is Text: nothing is too long for an index of SQLite.
func (d Mapping) Short(c *column.Column, expr string) string { return d.Text(c, expr) }

// Typed gives a value of a column of bytes the storage class that ID has found it in. SQLite gives any other parameter
// the column's affinity.
func (Mapping) Typed(c *column.Column, parameter string) string {
	if c.Kind != column.Bytes {
		return parameter
	}
	return "(SELECT CASE WHEN v LIKE 'text:%' THEN substr(v, 6) WHEN v LIKE 'integer:%' THEN CAST(substr(v, 9) AS INTEGER) " +
		"WHEN v LIKE 'real:%' THEN CAST(substr(v, 6) AS REAL) ELSE UNHEX(v) END FROM (SELECT " + parameter + " AS v))"
}

// Position writes the sign as 0 or 1 and then the number without it.
func (Mapping) Position(_ *column.Column, expr string) string {
	return "printf('%d%019d', " + expr + " >= 0, " + expr + " & 9223372036854775807)"
}

// Instant casts the stored value to TEXT and changes nothing else about it.
func (Mapping) Instant(_ *column.Column, expr string) string { return "CAST(" + expr + " AS TEXT)" }

// Limit is that of an own table.
func (Mapping) Limit(_ *column.Column, expr string) string { return Outbox{}.Limit(expr) }

// AtInstant returns the parameter unchanged: Instant wrote the text that was stored.
func (Mapping) AtInstant(_ *column.Column, parameter string) string { return parameter }

// Now is the UTC clock as text, less so many milliseconds.
func (Mapping) Now(_ *column.Column, less string) string {
	if less != "" {
		return Statement{}.Earlier(less)
	}
	return Statement{}.Now()
}

// ByIndex is needed: to SQLite it is cheaper to read the table than a partial index as large as that.
func (Mapping) ByIndex(name string) string { return " INDEXED BY " + name }

// Ddl creates the side table and then its index, which SQLite makes by a statement of its own.
func (Mapping) Ddl(side statement.Name, states string) []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + side.String() + ` (
    outbox TEXT NOT NULL,
    event TEXT NOT NULL,
    aggregate_type TEXT NOT NULL,
    aggregate_id TEXT NOT NULL,
    position TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (` + states + `)),
    attempts INTEGER NOT NULL,
    next_attempt_at TEXT NULL,
    last_error TEXT NULL,
    PRIMARY KEY (outbox, event)
)`,
		`CREATE INDEX IF NOT EXISTS ` + side.IndexName("aggregate") + ` ON ` + side.String() +
			` (outbox, aggregate_type, aggregate_id)`,
	}
}

// KindOf follows the rules of affinity where they decide how a value compares, and the name where it says more. A
// declared type is a hint there: a uuid is text, a boolean is a number.
func KindOf(typ string) column.Kind {
	base := column.TypeName(typ)
	switch {
	case strings.Contains(base, "bool"):
		return column.Bool
	case strings.Contains(base, "int"):
		return column.Integer
	case strings.Contains(base, "time"), strings.Contains(base, "date"):
		return column.Time
	case strings.Contains(base, "json"):
		return column.JSON
	case strings.Contains(base, "blob"), base == "":
		return column.Bytes
	}
	return column.Text
}
