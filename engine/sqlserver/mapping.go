package sqlserver

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Mapping is how SQL Server writes what concerns mapped tables.
type Mapping struct{ column.Mapping }

// compared writes a text under the side table's collation.
func compared(expr string) string { return "CAST(" + expr + " AS nvarchar(255))" + exact }

// Text casts a value to nvarchar under the side table's collation. Bytes become hex digits in upper case, without 0x.
func (Mapping) Text(c *column.Column, expr string) string {
	length := "255"
	if !c.Fits(255) {
		length = "max"
	}
	if c.Kind == column.Bytes {
		expr = "CONVERT(varchar(" + length + "), " + expr + ", 2)"
	}
	return "CAST(" + expr + " AS nvarchar(" + length + "))" + exact
}

// ID is Text: a column's values are of its type.
func (d Mapping) ID(c *column.Column, expr string) string { return d.Text(c, expr) }

// Short takes 191 characters and HASHBYTES of what is longer than 255.
func (d Mapping) Short(c *column.Column, expr string) string {
	text := d.Text(c, expr)
	if c.Fits(255) {
		return text
	}
	return compared("CASE WHEN DATALENGTH(" + text + ") <= 510 THEN " + text + " ELSE LEFT(" + text +
		", 191) + CONVERT(char(64), HASHBYTES('SHA2_256', " + text + "), 2) END")
}

// Typed casts a text to the column's type, and decodes hex digits for a column of bytes.
func (Mapping) Typed(c *column.Column, parameter string) string {
	if c.Kind == column.Bytes {
		return "CONVERT(varbinary(255), " + parameter + ", 2)"
	}
	return "CAST(" + parameter + " AS " + c.Type + ")"
}

// Position writes the sign as 0 or 1 and then the number without it.
func (Mapping) Position(_ *column.Column, expr string) string {
	return compared("CASE WHEN " + expr +
		" >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(" + expr +
		// a literal of this size is a decimal to SQL Server, and & takes none
		" AS bigint) & CAST(9223372036854775807 AS bigint)), 19)")
}

// zoned says that the type holds an instant with its zone.
func zoned(c *column.Column) bool {
	return strings.HasPrefix(strings.ToLower(c.Type), "datetimeoffset")
}

// Instant writes a time in UTC with seven digits of its second, under the side table's collation.
func (Mapping) Instant(c *column.Column, expr string) string {
	if zoned(c) {
		expr = "SWITCHOFFSET(" + expr + ", '+00:00')"
	}
	return compared("CONVERT(varchar(33), CAST(" + expr + " AS datetime2(7)), 121)")
}

// Limit is Instant.
func (d Mapping) Limit(c *column.Column, expr string) string { return d.Instant(c, expr) }

// AtInstant reads the text as a time in UTC, with its zone where the column has one.
func (Mapping) AtInstant(c *column.Column, parameter string) string {
	at := "CAST(" + parameter + " AS datetime2(7))"
	if zoned(c) {
		return "TODATETIMEOFFSET(" + at + ", '+00:00')"
	}
	return at
}

// Now is the UTC clock, less so many milliseconds.
func (Mapping) Now(c *column.Column, less string) string {
	now := Statement{}.Now()
	if less != "" {
		now = Statement{}.Earlier(less)
	}
	if zoned(c) {
		return "TODATETIMEOFFSET(" + now + ", '+00:00')"
	}
	return now
}

// Literal writes a text for an nchar or nvarchar column with N in front of it, so that it has the column's type.
func (d Mapping) Literal(c *column.Column, value string) string {
	if c.Kind != column.Integer && strings.HasPrefix(c.Type, "n") {
		return "N'" + value + "'"
	}
	return d.Mapping.Literal(c, value)
}

// Unordered is an ORDER BY that orders nothing: OFFSET … FETCH does not stand without one.
func (Mapping) Unordered() string { return " ORDER BY (SELECT NULL)" }

// Ddl creates the side table in one statement, its index included, where OBJECT_ID does not find it.
func (Mapping) Ddl(side statement.Name, states string) []string {
	return []string{
		`IF OBJECT_ID(` + TextLiteral(side.String()) + `) IS NULL
CREATE TABLE ` + side.String() + ` (
    outbox nvarchar(190)` + exact + ` NOT NULL,
    event nvarchar(255)` + exact + ` NOT NULL,
    aggregate_type nvarchar(255)` + exact + ` NOT NULL,
    aggregate_id nvarchar(255)` + exact + ` NOT NULL,
    position nvarchar(64)` + exact + ` NOT NULL,
    state varchar(16)` + exact + ` NOT NULL CHECK (state IN (` + states + `)),
    attempts int NOT NULL,
    next_attempt_at datetime2(6) NULL,
    last_error nvarchar(1000) NULL,
    PRIMARY KEY (outbox, event),
    INDEX aggregate (outbox, aggregate_type, aggregate_id)
)`,
	}
}
