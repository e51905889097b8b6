package publisher

import (
	"fmt"
	"time"
)

// Values of the user's table travel as text: ids, aggregates and positions are compared with what the side table holds, and
// that is text under a binary collation. Only where an index of the user's table has to serve a condition is the parameter
// cast to the column's type instead.

// binary writes a text under the side table's collation.
func (q *mappedSQL) binary(expr string) string {
	switch q.engine {
	case "postgres":
		return expr + ` COLLATE "C"`
	case "mysql":
		return "CAST(" + expr + " AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin"
	case "sqlserver":
		return "CAST(" + expr + " AS nvarchar(255)) COLLATE Latin1_General_100_BIN2"
	default:
		return "CAST(" + expr + " AS TEXT)"
	}
}

// text writes the value of a column of o as the text that stands in the side table, and in Go.
func (q *mappedSQL) text(c *mappedColumn) string {
	expr := q.column(c, "o")
	if c.kind == kindBytes {
		switch q.engine {
		case "postgres":
			return q.binary("encode(" + expr + ", 'hex')")
		case "sqlserver":
			return q.binary("CONVERT(varchar(255), " + expr + ", 2)")
		default:
			return q.binary("HEX(" + expr + ")")
		}
	}
	if q.engine == "postgres" {
		return q.binary("CAST(" + expr + " AS text)")
	}
	return q.binary(expr)
}

// typed casts a text parameter to a column's type, so that an index on the column can be used.
func (q *mappedSQL) typed(c *mappedColumn, parameter string) string {
	if c.kind == kindBytes {
		switch q.engine {
		case "postgres":
			return "decode(" + parameter + ", 'hex')"
		case "sqlserver":
			return "CONVERT(varbinary(255), " + parameter + ", 2)"
		default:
			return "UNHEX(" + parameter + ")"
		}
	}
	switch q.engine {
	case "postgres":
		return "CAST(CAST(" + parameter + " AS text) AS " + c.typ + ")"
	case "sqlserver":
		return "CAST(" + parameter + " AS " + c.typ + ")"
	case "mysql":
		if c.kind == kindInteger {
			return "CAST(" + parameter + " AS " + mysqlInteger(c) + ")"
		}
		return parameter
	default: // SQLite gives the parameter the column's affinity
		return parameter
	}
}

func mysqlInteger(c *mappedColumn) string {
	if c.unsigned() {
		return "UNSIGNED"
	}
	return "SIGNED"
}

// position writes where a row stands in the order as text of one width, so that texts compare as the values do.
func (q *mappedSQL) position(alias string) string {
	if q.seq == nil {
		return q.instant(q.createdAt, alias)
	}
	x := q.column(q.seq, alias)
	const low = " & 9223372036854775807" // the number without its sign, which comes before it as 0 or 1
	switch q.engine {
	case "postgres":
		return `(CASE WHEN ` + x + ` >= 0 THEN '1' ELSE '0' END || lpad(CAST(CAST(` + x + ` AS bigint)` + low + ` AS text), 19, '0')) COLLATE "C"`
	case "mysql":
		if q.seq.unsigned() {
			return q.binary("LPAD(" + x + ", 20, '0')")
		}
		return q.binary("CONCAT(" + x + " >= 0, LPAD(" + x + low + ", 19, '0'))")
	case "sqlserver":
		return q.binary("CASE WHEN " + x + " >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(" + x +
			" AS bigint) & CAST(9223372036854775807 AS bigint)), 19)") // a literal of this size is a decimal to SQL Server, and & takes none
	default:
		return "printf('%d%019d', " + x + " >= 0, " + x + low + ")"
	}
}

// instant writes a time in UTC as text of one width: 2026-01-31 23:59:59.123456. SQLite keeps what is stored.
func (q *mappedSQL) instant(c *mappedColumn, alias string) string {
	x := q.column(c, alias)
	switch q.engine {
	case "postgres":
		if c.zoned(q.engine) {
			x = "(" + x + " AT TIME ZONE 'UTC')"
		}
		return "to_char(" + x + `, 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C"`
	case "mysql":
		return q.binary("DATE_FORMAT(" + x + ", '%Y-%m-%d %H:%i:%s.%f')")
	case "sqlserver":
		if c.zoned(q.engine) {
			x = "SWITCHOFFSET(" + x + ", '+00:00')"
		}
		return q.binary("CONVERT(varchar(33), CAST(" + x + " AS datetime2(7)), 121)")
	default:
		return "CAST(" + x + " AS TEXT)"
	}
}

// atInstant casts a text that instant wrote back to the column's type.
func (q *mappedSQL) atInstant(c *mappedColumn, parameter string) string {
	switch q.engine {
	case "postgres":
		if c.zoned(q.engine) {
			return "(CAST(CAST(" + parameter + " AS text) AS timestamp) AT TIME ZONE 'UTC')"
		}
		return "CAST(CAST(" + parameter + " AS text) AS timestamp)"
	case "mysql":
		return "CAST(" + parameter + " AS DATETIME(6))"
	case "sqlserver":
		if c.zoned(q.engine) {
			return "TODATETIMEOFFSET(CAST(" + parameter + " AS datetime2(7)), '+00:00')"
		}
		return "CAST(" + parameter + " AS datetime2(7))"
	default:
		return parameter
	}
}

// now is the database's clock, less so many milliseconds that a parameter says ("" for none), as a value of the column.
func (q *mappedSQL) now(c *mappedColumn, less string) string {
	switch q.engine {
	case "postgres":
		now := "now()"
		if less != "" {
			now = "(now() - CAST(" + less + " AS bigint) * interval '1 millisecond')"
		}
		if c.zoned(q.engine) {
			return now
		}
		return "(" + now + " AT TIME ZONE 'UTC')"
	case "mysql":
		// The session's zone is UTC, so that a TIMESTAMP and a DATETIME are both UTC.
		if less != "" {
			return "(UTC_TIMESTAMP(6) - INTERVAL " + less + " * 1000 MICROSECOND)"
		}
		return "UTC_TIMESTAMP(6)"
	case "sqlserver":
		now := "SYSUTCDATETIME()"
		if less != "" {
			now = "DATEADD(millisecond, -CAST(" + less + " % 1000 AS int), DATEADD(second, -CAST(" + less + " / 1000 AS int), SYSUTCDATETIME()))"
		}
		if c.zoned(q.engine) {
			return "TODATETIMEOFFSET(" + now + ", '+00:00')"
		}
		return now
	default:
		if less != "" {
			return "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', " + less + " / 1000.0))"
		}
		return "strftime('%Y-%m-%d %H:%M:%f', 'now')"
	}
}

// literal writes a state's value; parseMapping saw to it that there is no quote in it.
func (q *mappedSQL) literal(c *mappedColumn, value string) string {
	switch {
	case c.kind == kindInteger:
		return value
	case q.engine == "sqlserver" && len(c.typ) > 0 && c.typ[0] == 'n':
		return "N'" + value + "'"
	default:
		return "'" + value + "'"
	}
}

// boolean writes true or false for a column that says whether an event was published.
func (q *mappedSQL) boolean(c *mappedColumn, v bool) string {
	switch {
	case q.engine == "postgres" && c.kind == kindBool && v:
		return "TRUE"
	case q.engine == "postgres" && c.kind == kindBool:
		return "FALSE"
	case v:
		return "1"
	default:
		return "0"
	}
}

// parseInstant reads what instant wrote. SQLite holds whatever was stored: what is no time is the zero one.
func parseInstant(text string) time.Time {
	for _, form := range []string{"2006-01-02 15:04:05", time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05 -0700 MST", "2006-01-02"} {
		if t, err := time.Parse(form, text); err == nil { // a fraction is read behind the seconds of every form
			return t.UTC()
		}
	}
	return time.Time{}
}

// column writes a column of the user's table.
func (q *mappedSQL) column(c *mappedColumn, alias string) string {
	return fmt.Sprintf("%s.%s", alias, q.d.quote(c.name))
}
