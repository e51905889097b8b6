package mysql

import (
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Mapping is how MySQL and MariaDB write what concerns mapped tables. The session's zone is UTC, so that a TIMESTAMP
// and a DATETIME are both UTC.
type Mapping struct{ column.Mapping }

// compared writes a text under the side table's collation.
func compared(expr string) string {
	return "CAST(" + expr + " AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin"
}

// Text casts a value to utf8mb4 under the side table's collation. Bytes become hex digits in upper case.
func (Mapping) Text(c *column.Column, expr string) string {
	if c.Kind == column.Bytes {
		expr = "HEX(" + expr + ")"
	}
	return compared(expr)
}

// ID is Text: a column's values are of its type.
func (d Mapping) ID(c *column.Column, expr string) string { return d.Text(c, expr) }

// Short takes 191 characters and SHA2 of what is longer than 255.
func (d Mapping) Short(c *column.Column, expr string) string {
	text := d.Text(c, expr)
	if c.Fits(255) {
		return text
	}
	return "IF(CHAR_LENGTH(" + text + ") <= 255, " + text + ", CONCAT(LEFT(" + text + ", 191), SHA2(" + text + ", 256)))"
}

// Typed casts a text to a signed or an unsigned integer, and decodes hex digits for a column of bytes. Any other kind
// takes the text as it is.
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

// Instant writes a time with six digits of its second, under the side table's collation.
func (Mapping) Instant(_ *column.Column, expr string) string {
	return compared("DATE_FORMAT(" + expr + ", '%Y-%m-%d %H:%i:%s.%f')")
}

// Limit is Instant.
func (d Mapping) Limit(c *column.Column, expr string) string { return d.Instant(c, expr) }

// AtInstant casts a text to DATETIME(6). A TIMESTAMP compares with it as it should, because the session's zone is UTC.
func (Mapping) AtInstant(_ *column.Column, parameter string) string {
	return "CAST(" + parameter + " AS DATETIME(6))"
}

// Now is the UTC clock in microseconds, less so many milliseconds.
func (Mapping) Now(_ *column.Column, less string) string {
	if less != "" {
		return "(" + Statement{}.Earlier(less) + ")"
	}
	return Statement{}.Now()
}

// ByIndex keeps MariaDB from reading the table where its statistics know nothing of what has just been written.
func (Mapping) ByIndex(name string) string { return " FORCE INDEX (" + name + ")" }

// Ddl creates the side table in one statement, its index included, under a binary collation.
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
