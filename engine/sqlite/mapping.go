package sqlite

import (
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Mapping is how SQLite writes what concerns mapped tables. It has no type for times: they are text, as they were
// stored.
type Mapping struct{ Tables }

func (Mapping) Text(c *column.Column, expr string) string {
	if c.Kind == column.Bytes {
		expr = "HEX(" + expr + ")"
	}
	return "CAST(" + expr + " AS TEXT)"
}

// Typed: SQLite gives the parameter the column's affinity.
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

func (Mapping) Instant(_ *column.Column, expr string) string { return "CAST(" + expr + " AS TEXT)" }

func (Mapping) AtInstant(_ *column.Column, parameter string) string { return parameter }

func (d Mapping) Now(_ *column.Column, less string) string {
	if less != "" {
		return "strftime(" + instantFormat + ", 'now', printf('-%.3f seconds', " + less + " / 1000.0))"
	}
	return d.Clock()
}

func (Mapping) Literal(c *column.Column, value string) string { return column.Literal(c, value) }

func (Mapping) Boolean(_ *column.Column, v bool) string { return column.ZeroOrOne(v) }

func (Mapping) Payload(_ *column.Column, expr string) string { return expr }

func (Mapping) TextTimes() bool { return true }

func (Mapping) Shown(expr string) string { return expr }

func (Mapping) Clock() string { return "strftime(" + instantFormat + ", 'now')" }

func (Mapping) Hold() string { return "" }

func (Mapping) Unordered() string { return "" }

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
