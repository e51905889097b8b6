package publisher

import (
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// liteMapping is how SQLite writes what concerns mapped tables. It has no type for times: they are text, as they were stored.
type liteMapping struct{ liteTables }

func (liteMapping) text(c *column.Column, expr string) string {
	if c.Kind == column.Bytes {
		expr = "HEX(" + expr + ")"
	}
	return "CAST(" + expr + " AS TEXT)"
}

// typed: SQLite gives the parameter the column's affinity.
func (liteMapping) typed(c *column.Column, parameter string) string {
	if c.Kind == column.Bytes {
		return "UNHEX(" + parameter + ")"
	}
	return parameter
}

// position writes the sign as 0 or 1 and then the number without it.
func (liteMapping) position(_ *column.Column, expr string) string {
	return "printf('%d%019d', " + expr + " >= 0, " + expr + " & 9223372036854775807)"
}

func (liteMapping) instant(_ *column.Column, expr string) string { return "CAST(" + expr + " AS TEXT)" }

func (liteMapping) atInstant(_ *column.Column, parameter string) string { return parameter }

func (d liteMapping) now(_ *column.Column, less string) string {
	if less != "" {
		return "strftime(" + liteTime + ", 'now', printf('-%.3f seconds', " + less + " / 1000.0))"
	}
	return d.clock()
}

func (liteMapping) literal(c *column.Column, value string) string { return column.Literal(c, value) }

func (liteMapping) boolean(_ *column.Column, v bool) string { return column.ZeroOrOne(v) }

func (liteMapping) payload(_ *column.Column, expr string) string { return expr }

func (liteMapping) textTimes() bool { return true }

func (liteMapping) shown(expr string) string { return expr }

func (liteMapping) clock() string { return "strftime(" + liteTime + ", 'now')" }

func (liteMapping) hold() string { return "" }

func (liteMapping) unordered() string { return "" }

func (liteMapping) ddl(side statement.Name, states string) []string {
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
		`CREATE INDEX IF NOT EXISTS ` + side.IndexName("aggregate") + ` ON ` + side.String() + ` (outbox, aggregate_type, aggregate_id)`,
	}
}
