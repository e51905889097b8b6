package source

import "strings"

// How sqliteRow checks and encodes a value. The storage class decides the form; the declared type decides which classes
// it may have, so that a value can be told from its form alone: that is what makes a cursor or key readable again.
const (
	sqliteNumeric = iota // integer, real, text
	sqliteBool           // integer 0 and 1, else as numeric
	sqliteText           // text; a number where the declared type let one in
	sqliteBlob           // blob
	sqliteJSON           // text that is JSON; numbers
	sqliteAny            // no declared type: integer, real, text
)

// sqliteValue maps a declared type: first by name, then by the affinity that SQLite derives from it
// (https://www.sqlite.org/datatype3.html, §3.1).
func sqliteValue(declared string) value {
	name := strings.ToUpper(strings.TrimSpace(declared))
	name, _, _ = strings.Cut(name, "(")
	name = strings.TrimSpace(name)
	switch {
	case name == "" || name == "ANY":
		return value{kind: kindText, code: sqliteAny, noCursor: "so that SQLite does not tell its type: name a column with a declared type, of a table and not computed"}
	case strings.HasPrefix(name, "BOOL"):
		return value{kind: kindBool, code: sqliteBool}
	case strings.HasPrefix(name, "DATETIME"), strings.HasPrefix(name, "TIMESTAMP"), strings.HasPrefix(name, "SMALLDATETIME"):
		// The driver would parse the text of a column that is declared so; an expression has no declared type.
		return value{kind: kindDateTime, code: sqliteNumeric, expr: "+%s"}
	case name == "DATE":
		return value{kind: kindDate, code: sqliteNumeric, expr: "+%s"}
	case name == "TIME":
		return value{kind: kindTime, code: sqliteNumeric}
	case name == "JSON":
		return value{kind: kindJSON, code: sqliteJSON}
	case name == "JSONB":
		return value{refused: "which SQLite keeps in a form of its own", cast: "json(%s)"}
	case name == "UUID", name == "GUID", name == "UNIQUEIDENTIFIER":
		return value{kind: kindUUID, code: sqliteText}
	case strings.Contains(name, "INT"):
		return value{kind: kindInteger, code: sqliteNumeric}
	case strings.Contains(name, "CHAR"), strings.Contains(name, "CLOB"), strings.Contains(name, "TEXT"):
		return value{kind: kindText, code: sqliteText}
	case strings.Contains(name, "BLOB"):
		return value{kind: kindBinary, code: sqliteBlob}
	case strings.Contains(name, "REAL"), strings.Contains(name, "FLOA"), strings.Contains(name, "DOUB"):
		return value{kind: kindFloat, code: sqliteNumeric}
	default:
		return value{kind: kindDecimal, code: sqliteNumeric}
	}
}

// types lists what SQLite derives an affinity from, and the names that have a meaning of their own here.
func (sqliteDialect) types() []typeRule {
	var rules []typeRule
	add := func(note string, names ...string) {
		for _, name := range names {
			rules = append(rules, typeRule{name: name, sample: name, value: sqliteValue(name), note: note})
		}
	}
	add("a number, beyond ±(2^53−1) a string", "INT", "INTEGER", "TINYINT", "SMALLINT", "MEDIUMINT", "BIGINT", "UNSIGNED BIG INT", "INT2", "INT8")
	add("`true`, `false` for 1 and 0", "BOOLEAN", "BOOL")
	add("as stored: an integer, or the shortest number of the float that SQLite keeps", "NUMERIC", "DECIMAL(10,5)", "MONEY", "YEAR")
	add("the shortest number", "REAL", "DOUBLE", "DOUBLE PRECISION", "FLOAT")
	add("a string", "TEXT", "CHARACTER(20)", "VARCHAR(255)", "VARYING CHARACTER(255)", "NCHAR(55)", "NATIVE CHARACTER(70)", "NVARCHAR(100)", "CLOB")
	add("a string", "UUID", "GUID", "UNIQUEIDENTIFIER")
	add("base64", "BLOB")
	add("as stored: the text itself, or the number", "DATE", "DATETIME", "DATETIME(6)", "TIMESTAMP", "SMALLDATETIME", "TIME")
	add("as it is, white space removed", "JSON")
	add("", "JSONB")
	add("as stored: a number or a string; a BLOB is refused", "ANY", "")
	return rules
}
