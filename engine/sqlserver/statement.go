package sqlserver

import (
	"database/sql"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Statement is how SQL Server 2016 and later (compatibility level 130: OPENJSON) and Azure SQL write statements.
type Statement struct{}

// exact is a collation that compares by code units.
const exact = " COLLATE Latin1_General_100_BIN2"

// Exact is the collation of a text column that compares by code units.
func (Statement) Exact() string { return exact }

// Quote writes a name in brackets, a closing bracket in it twice.
func (Statement) Quote(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// longestText is what nvarchar holds at most, in code units of UTF-16: at most as many as there are bytes in UTF-8.
const longestText = 4000

// Param gives a text one length: the driver declares each by that of its value, and every other declaration is
// another plan.
func (Statement) Param(n int, v any, list bool) (string, any) {
	param := "@p" + strconv.Itoa(n)
	if v == nil {
		// A NULL has a type then: the driver sends one without by a token that not every server of the protocol takes.
		return param, sql.NullString{}
	}
	text, isText := v.(string)
	if !isText {
		return param, v
	}
	if !list && len(text) <= longestText {
		param = "CAST(" + param + " AS nvarchar(" + strconv.Itoa(longestText) + "))"
	}
	return param, mssql.NVarCharMax(text)
}

// Counted asks for @@ROWCOUNT. The driver counts nothing where NOCOUNT is ON, which the server's user options may make
// every session's default, and adds what the statements of triggers count, even where they are about no row.
func (Statement) Counted(text string, rows *int64) (counted string, arg any) {
	return strings.TrimSuffix(text, ";") + ";\nSET @rows = @@ROWCOUNT", sql.Named("rows", sql.Out{Dest: rows})
}

// Now is the UTC clock as a datetime2.
func (Statement) Now() string { return "SYSUTCDATETIME()" }

// Later takes less than 24 days: DATEADD counts in an int.
func (Statement) Later(ms string) string {
	return "DATEADD(millisecond, CAST(" + ms + " AS int), SYSUTCDATETIME())"
}

// Earlier subtracts seconds and milliseconds apart: DATEADD counts in an int, and ages have more than 24 days.
func (d Statement) Earlier(ms string) string {
	return "DATEADD(millisecond, -CAST(" + ms + " % 1000 AS int), DATEADD(second, -CAST(" + ms + " / 1000 AS int), " +
		d.Now() + "))"
}

// Age counts by DATEDIFF_BIG, which does not overflow after 24 days.
func (Statement) Age(at string) string {
	return "DATEDIFF_BIG(millisecond, " + at + ", SYSUTCDATETIME())"
}

// Limit writes OFFSET … FETCH NEXT, which needs the ORDER BY before it.
func (Statement) Limit(n string, skip int) string {
	return " OFFSET " + strconv.Itoa(skip) + " ROWS FETCH NEXT " + n + " ROWS ONLY"
}

// LookUp is INNER LOOP JOIN, which keeps the order of the tables as well.
func (Statement) LookUp(table, alias, _, on string) string {
	return " INNER LOOP JOIN " + table + " " + alias + " ON " + on
}

// Bytes is half of what the column takes in UTF-16: at most what it takes in UTF-8. It is not 0 for one letter of a
// varchar, either.
func (Statement) Bytes(column string) string {
	return "(DATALENGTH(" + column + ") / 2 + DATALENGTH(" + column + ") % 2)"
}

// AnyInt reads the list by OPENJSON from one parameter, each value as a bigint.
func (Statement) AnyInt(s *statement.Statement, expr string, list []int64) string {
	return expr + " IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(" + s.List(statement.AsJSON(list)) + ") AS j)"
}

// AnyText reads the list by OPENJSON from one parameter, each value under the collation exact.
func (Statement) AnyText(s *statement.Statement, expr string, list []string) string {
	return expr + " IN (SELECT CAST(j.value AS nvarchar(255))" + exact + " FROM OPENJSON(" +
		s.List(statement.AsJSON(list)) + ") AS j)"
}

// Table reads the JSON array by OPENJSON, with a column definition for each field.
func (Statement) Table(param, alias string, fields []statement.Field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		typ := "bigint"
		if f.Text {
			typ = "nvarchar(1000)"
		}
		columns[i] = f.Name + " " + typ + " '$." + f.Name + "'"
	}
	return "OPENJSON(" + param + ") WITH (" + strings.Join(columns, ", ") + ") AS " + alias
}

// Lock writes hints after the table: UPDLOCK, with READPAST to leave out rows that are locked. The suffix is empty.
func (Statement) Lock(_ string, skip bool) (hint, suffix string) {
	if skip { // where READ COMMITTED reads by versions, READPAST needs READCOMMITTEDLOCK, which excludes ROWLOCK
		return " WITH (UPDLOCK, READCOMMITTEDLOCK, READPAST)", ""
	}
	return " WITH (UPDLOCK, ROWLOCK)", ""
}

// Low makes a transaction the one that loses a deadlock.
var Low = statement.Low{Prefix: "SET DEADLOCK_PRIORITY LOW; "}

// MostRows is where SQL Server begins to lock the whole table instead of rows, less a margin: a larger chunk would
// stop every writer.
const MostRows = 4000
