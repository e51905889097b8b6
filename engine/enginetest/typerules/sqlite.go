package typerules

import (
	"github.com/rowrelay/rowrelay/engine/sqlite"
)

// sqliteRules lists what SQLite derives an affinity from, and the names that have a meaning of their own here.
func sqliteRules() []Rule {
	var rules []Rule
	add := func(note string, names ...string) {
		for _, name := range names {
			rules = append(rules, Rule{Name: name, Sample: name, Value: sqlite.ValueOf(name), Note: note})
		}
	}
	add("a number, beyond ±(2^53−1) a string", "INT", "INTEGER", "TINYINT", "SMALLINT", "MEDIUMINT", "BIGINT",
		"UNSIGNED BIG INT", "INT2", "INT8")
	add("`true`, `false` for 1 and 0", "BOOLEAN", "BOOL")
	add("as stored: an integer, or the shortest number of the float that SQLite keeps", "NUMERIC", "DECIMAL(10,5)",
		"MONEY", "YEAR")
	add("the shortest number", "REAL", "DOUBLE", "DOUBLE PRECISION", "FLOAT")
	add("a string", "TEXT", "CHARACTER(20)", "VARCHAR(255)", "VARYING CHARACTER(255)", "NCHAR(55)", "NATIVE CHARACTER(70)",
		"NVARCHAR(100)", "CLOB")
	add("a string", "UUID", "GUID", "UNIQUEIDENTIFIER")
	add("base64", "BLOB")
	add("as stored: the text itself, or the number", "DATE", "DATETIME", "DATETIME(6)", "TIMESTAMP", "SMALLDATETIME",
		"TIME")
	add("as it is, white space removed", "JSON")
	add("", "JSONB")
	add("as stored: a number or a string; a BLOB is refused", "ANY", "")
	return rules
}
