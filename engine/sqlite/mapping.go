package sqlite

import (
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

// Short is Text: nothing is too long for an index of SQLite.
func (d Mapping) Short(c *column.Column, expr string) string { return d.Text(c, expr) }

// Typed decodes hex digits for a column of bytes. SQLite gives any other parameter the column's affinity.
func (Mapping) Typed(c *column.Column, parameter string) string {
	if c.Kind == column.Bytes {
		return "UNHEX(" + parameter + ")"
	}
	return parameter
}

// Position writes the sign as 0 or 1 and then the number without it.
func (Mapping) Position(_ *column.Column, expr string) string {
	return "printf('%d%019d', " + expr + " >= 0, " + expr + " & 9223372036854775807)"
}

// Instant casts the stored value to TEXT and changes nothing else about it.
func (Mapping) Instant(_ *column.Column, expr string) string { return "CAST(" + expr + " AS TEXT)" }

// AtInstant returns the parameter unchanged: Instant wrote the text that was stored.
func (Mapping) AtInstant(_ *column.Column, parameter string) string { return parameter }

// Now is the UTC clock as text, less so many milliseconds.
func (Mapping) Now(_ *column.Column, less string) string {
	if less != "" {
		return "strftime(" + instantFormat + ", 'now', printf('-%.3f seconds', " + less + " / 1000.0))"
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
