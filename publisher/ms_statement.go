package publisher

import (
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// msStatement is how SQL Server 2016 and later (compatibility level 130: OPENJSON) and Azure SQL write statements.
type msStatement struct{}

// msExact is a collation that compares by code units.
const msExact = " COLLATE Latin1_General_100_BIN2"

func (msStatement) Quote(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// msText is what nvarchar holds at most, in code units of UTF-16: at most as many as there are bytes in UTF-8.
const msText = 4000

// Param gives a text one length: the driver declares each by that of its value, and every other declaration is another plan.
func (msStatement) Param(n int, v any, list bool) (string, any) {
	param := "@p" + strconv.Itoa(n)
	text, isText := v.(string)
	if !isText {
		return param, v
	}
	if !list && len(text) <= msText {
		param = "CAST(" + param + " AS nvarchar(" + strconv.Itoa(msText) + "))"
	}
	return param, mssql.NVarCharMax(text)
}

func (msStatement) Now() string { return "SYSUTCDATETIME()" }

// Later takes less than 24 days: DATEADD counts in an int.
func (msStatement) Later(ms string) string {
	return "DATEADD(millisecond, CAST(" + ms + " AS int), SYSUTCDATETIME())"
}

func (msStatement) Earlier(ms string) string {
	return "DATEADD(millisecond, -CAST(" + ms + " AS int), SYSUTCDATETIME())"
}

func (msStatement) Age(at string) string {
	return "DATEDIFF_BIG(millisecond, " + at + ", SYSUTCDATETIME())"
}

func (msStatement) Limit(n string, skip int) string {
	return " OFFSET " + strconv.Itoa(skip) + " ROWS FETCH NEXT " + n + " ROWS ONLY"
}

// Bytes is half of what the column takes in UTF-16: at most what it takes in UTF-8.
func (msStatement) Bytes(column string) string { return "(DATALENGTH(" + column + ") / 2)" }

func (msStatement) AnyInt(s *statement.Statement, expr string, list []int64) string {
	return expr + " IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(" + s.List(statement.AsJSON(list)) + ") AS j)"
}

func (msStatement) AnyText(s *statement.Statement, expr string, list []string) string {
	return expr + " IN (SELECT CAST(j.value AS nvarchar(255))" + msExact + " FROM OPENJSON(" + s.List(statement.AsJSON(list)) + ") AS j)"
}

func (msStatement) Table(param, alias string, fields []statement.Field) string {
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

func (msStatement) Lock(skip bool) (hint, suffix string) {
	if skip { // where READ COMMITTED reads by versions, READPAST needs READCOMMITTEDLOCK, which excludes ROWLOCK
		return " WITH (UPDLOCK, READCOMMITTEDLOCK, READPAST)", ""
	}
	return " WITH (UPDLOCK, ROWLOCK)", ""
}

// msLow makes a transaction the one that loses a deadlock.
var msLow = statement.Low{Prefix: "SET DEADLOCK_PRIORITY LOW; "}

// msMostRows is where SQL Server begins to lock the whole table instead of rows, less a margin: a larger chunk would stop every
// writer.
const msMostRows = 4000
