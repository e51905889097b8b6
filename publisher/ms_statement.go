package publisher

import (
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
)

// msStatement is how SQL Server 2016 and later (compatibility level 130: OPENJSON) and Azure SQL write statements.
type msStatement struct{}

// msExact is a collation that compares by code units.
const msExact = " COLLATE Latin1_General_100_BIN2"

func (msStatement) quote(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// msText is what nvarchar holds at most, in code units of UTF-16: at most as many as there are bytes in UTF-8.
const msText = 4000

// param gives a text one length: the driver declares each by that of its value, and every other declaration is another plan.
func (msStatement) param(n int, v any, list bool) (string, any) {
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

func (msStatement) now() string { return "SYSUTCDATETIME()" }

// later takes less than 24 days: DATEADD counts in an int.
func (msStatement) later(ms string) string {
	return "DATEADD(millisecond, CAST(" + ms + " AS int), SYSUTCDATETIME())"
}

func (msStatement) earlier(ms string) string {
	return "DATEADD(millisecond, -CAST(" + ms + " AS int), SYSUTCDATETIME())"
}

func (msStatement) age(at string) string {
	return "DATEDIFF_BIG(millisecond, " + at + ", SYSUTCDATETIME())"
}

func (msStatement) limit(n string, skip int) string {
	return " OFFSET " + strconv.Itoa(skip) + " ROWS FETCH NEXT " + n + " ROWS ONLY"
}

// bytes is half of what the column takes in UTF-16: at most what it takes in UTF-8.
func (msStatement) bytes(column string) string { return "(DATALENGTH(" + column + ") / 2)" }

func (msStatement) anyInt(s *statement, expr string, list []int64) string {
	return expr + " IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(" + s.list(asJSON(list)) + ") AS j)"
}

func (msStatement) anyText(s *statement, expr string, list []string) string {
	return expr + " IN (SELECT CAST(j.value AS nvarchar(255))" + msExact + " FROM OPENJSON(" + s.list(asJSON(list)) + ") AS j)"
}

func (msStatement) table(param, alias string, fields []field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		typ := "bigint"
		if f.text {
			typ = "nvarchar(1000)"
		}
		columns[i] = f.name + " " + typ + " '$." + f.name + "'"
	}
	return "OPENJSON(" + param + ") WITH (" + strings.Join(columns, ", ") + ") AS " + alias
}

func (msStatement) lock(skip bool) (hint, suffix string) {
	if skip { // where READ COMMITTED reads by versions, READPAST needs READCOMMITTEDLOCK, which excludes ROWLOCK
		return " WITH (UPDLOCK, READCOMMITTEDLOCK, READPAST)", ""
	}
	return " WITH (UPDLOCK, ROWLOCK)", ""
}

// msLow makes a transaction the one that loses a deadlock.
var msLow = Low{Prefix: "SET DEADLOCK_PRIORITY LOW; "}

// msMostRows is where SQL Server begins to lock the whole table instead of rows, less a margin: a larger chunk would stop every
// writer.
const msMostRows = 4000
