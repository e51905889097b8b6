package mysql

import (
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Mapping is how MySQL and MariaDB write what concerns mapped tables. The session's zone is UTC, so that a TIMESTAMP
// and a DATETIME are both UTC.
type Mapping struct{ Tables }

// compared writes a text under the side table's collation.
func compared(expr string) string {
	return "CAST(" + expr + " AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin"
}

func (Mapping) Text(c *column.Column, expr string) string {
	if c.Kind == column.Bytes {
		expr = "HEX(" + expr + ")"
	}
	return compared(expr)
}

func (Mapping) Typed(c *column.Column, parameter string) string {
	switch {
	case c.Kind == column.Bytes:
		return "UNHEX(" + parameter + ")"
	case c.Kind == column.Integer && c.Unsigned():
		return "CAST(" + parameter + " AS UNSIGNED)"
	case c.Kind == column.Integer:
		return "CAST(" + parameter + " AS SIGNED)"
	default:
		return parameter
	}
}

// Position writes the sign as 0 or 1 and then the number without it.
func (Mapping) Position(c *column.Column, expr string) string {
	if c.Unsigned() {
		return compared("LPAD(" + expr + ", 20, '0')")
	}
	return compared("CONCAT(" + expr + " >= 0, LPAD(" + expr + " & 9223372036854775807, 19, '0'))")
}

func (d Mapping) Instant(_ *column.Column, expr string) string { return compared(d.Shown(expr)) }

func (Mapping) AtInstant(_ *column.Column, parameter string) string {
	return "CAST(" + parameter + " AS DATETIME(6))"
}

func (Mapping) Now(_ *column.Column, less string) string {
	if less != "" {
		return "(UTC_TIMESTAMP(6) - INTERVAL " + less + " * 1000 MICROSECOND)"
	}
	return "UTC_TIMESTAMP(6)"
}

func (Mapping) Literal(c *column.Column, value string) string { return column.Literal(c, value) }

func (Mapping) Boolean(_ *column.Column, v bool) string { return column.ZeroOrOne(v) }

func (Mapping) Payload(_ *column.Column, expr string) string { return expr }

func (Mapping) TextTimes() bool { return false }

func (Mapping) Shown(expr string) string {
	return "DATE_FORMAT(" + expr + ", '%Y-%m-%d %H:%i:%s.%f')"
}

func (d Mapping) Clock() string { return d.Shown("UTC_TIMESTAMP(6)") }

func (Mapping) Hold() string { return "" }

func (Mapping) Unordered() string { return "" }

func (Mapping) Ddl(side statement.Name, states string) []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + side.String() + ` (
    outbox varchar(190) NOT NULL,
    event varchar(255) NOT NULL,
    aggregate_type varchar(255) NOT NULL,
    aggregate_id varchar(255) NOT NULL,
    position varchar(64) NOT NULL,
    state varchar(16) NOT NULL CHECK (state IN (` + states + `)),
    attempts int NOT NULL,
    next_attempt_at datetime(6) NULL,
    last_error varchar(1000) NULL,
    PRIMARY KEY (outbox, event),
    INDEX aggregate (outbox, aggregate_type, aggregate_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
	}
}
