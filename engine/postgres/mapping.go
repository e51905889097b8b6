package postgres

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Mapping is how PostgreSQL writes what concerns mapped tables.
type Mapping struct{ column.Mapping }

// pgExact is a collation that compares byte by byte.
const pgExact = ` COLLATE "C"`

// Text casts a value to text under the collation "C". Bytes become hex digits in lower case.
func (Mapping) Text(c *column.Column, expr string) string {
	if c.Kind == column.Bytes {
		return "encode(" + expr + ", 'hex')" + pgExact
	}
	return "CAST(" + expr + " AS text)" + pgExact
}

// ID is Text: a column's values are of its type.
func (d Mapping) ID(c *column.Column, expr string) string { return d.Text(c, expr) }

// Short takes 191 characters and sha256 of what is longer than 255: an index takes rows of 2,704 bytes.
func (d Mapping) Short(c *column.Column, expr string) string {
	text := d.Text(c, expr)
	if c.Fits(255) {
		return text
	}
	return "CASE WHEN length(" + text + ") <= 255 THEN " + text + " ELSE left(" + text +
		", 191) || encode(sha256(convert_to(" + text + ", 'UTF8')), 'hex') END"
}

// Typed casts a text to the column's type, and decodes hex digits for a column of bytes. The inner cast makes the
// driver send a text.
func (Mapping) Typed(c *column.Column, parameter string) string {
	if c.Kind == column.Bytes {
		return "decode(" + parameter + ", 'hex')"
	}
	return "CAST(CAST(" + parameter + " AS text) AS " + c.Type + ")"
}

// Position writes the sign as 0 or 1 and then the number without it.
func (Mapping) Position(_ *column.Column, expr string) string {
	return `(CASE WHEN ` + expr + ` >= 0 THEN '1' ELSE '0' END || lpad(CAST(CAST(` + expr +
		` AS bigint) & 9223372036854775807 AS text), 19, '0'))` + pgExact
}

// pgZoned says that the type holds an instant with its zone.
func pgZoned(c *column.Column) bool {
	typ := strings.ToLower(c.Type)
	return strings.Contains(typ, "with time zone") || strings.HasPrefix(typ, "timestamptz")
}

// Instant writes a time in UTC with six digits of its second, under the collation "C". to_char makes NULL of an
// infinite one, which the cast names: infinity comes after every digit, -infinity before.
func (Mapping) Instant(c *column.Column, expr string) string {
	if pgZoned(c) {
		expr = "(" + expr + " AT TIME ZONE 'UTC')"
	}
	return "COALESCE(to_char(" + expr + `, 'YYYY-MM-DD HH24:MI:SS.US'), CAST(` + expr + " AS text))" + pgExact
}

// Limit is Instant.
func (d Mapping) Limit(c *column.Column, expr string) string { return d.Instant(c, expr) }

// AtInstant reads the text as a time in UTC, with its zone where the column has one.
func (Mapping) AtInstant(c *column.Column, parameter string) string {
	at := "CAST(CAST(" + parameter + " AS text) AS timestamp)"
	if pgZoned(c) {
		return "(" + at + " AT TIME ZONE 'UTC')"
	}
	return at
}

// Now is the clock at the transaction's beginning, less so many milliseconds. A column without a zone gets it in UTC.
func (Mapping) Now(c *column.Column, less string) string {
	now := "now()"
	if less != "" {
		now = "(now() - CAST(" + less + " AS bigint) * interval '1 millisecond')"
	}
	if pgZoned(c) {
		return now
	}
	return "(" + now + " AT TIME ZONE 'UTC')"
}

// Boolean writes TRUE or FALSE for a boolean, which takes no number, and 1 or 0 for any other column.
func (Mapping) Boolean(c *column.Column, v bool) string {
	switch {
	case c.Kind != column.Bool:
		return column.Mapping{}.Boolean(c, v)
	case v:
		return "TRUE"
	default:
		return "FALSE"
	}
}

// Payload casts json and jsonb to text, and returns any other column unchanged.
func (Mapping) Payload(c *column.Column, expr string) string {
	if c.Kind == column.JSON {
		return "CAST(" + expr + " AS text)"
	}
	return expr
}

// Ddl creates the side table and then its index, which PostgreSQL makes by a statement of its own.
func (Mapping) Ddl(side statement.Name, states string) []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + side.String() + ` (
    outbox varchar(190) NOT NULL,
    event text` + pgExact + ` NOT NULL,
    aggregate_type text` + pgExact + ` NOT NULL,
    aggregate_id text` + pgExact + ` NOT NULL,
    position text` + pgExact + ` NOT NULL,
    state varchar(16) NOT NULL CHECK (state IN (` + states + `)),
    attempts integer NOT NULL,
    next_attempt_at timestamptz NULL,
    last_error varchar(1000) NULL,
    PRIMARY KEY (outbox, event)
)`,
		`CREATE INDEX IF NOT EXISTS ` + side.IndexName("aggregate") + ` ON ` + side.String() +
			` (outbox, aggregate_type, aggregate_id)`,
	}
}

// KindOf knows that bit is a string of bits, and that citext may lie in any schema.
func KindOf(typ string) column.Kind {
	switch {
	case column.TypeName(typ) == "bit":
		return column.Other
	case strings.HasSuffix(typ, ".citext"):
		return column.Text
	}
	return column.KindOf(typ)
}
