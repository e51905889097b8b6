package sqlstore

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// columns are those of the table, in the order of an insert's values.
const columns = "name, part, parts, version, data"

// texts is what is written differently on one engine.
type texts struct {
	syntax statement.Syntax
	// create makes the table where it is not there yet. Names compare byte by byte.
	create func(table statement.Name) string
	// insert writes a row unless there is one of its name and part. values begin with these two.
	insert func(table string, values []string) string
	// deadlock says that an error is the end of a transaction that met another in a deadlock; nil where none do.
	deadlock func(error) bool
}

var sqliteTexts = texts{syntax: sqlite.Statement{}, insert: onConflict, create: func(table statement.Name) string {
	return `CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    name TEXT NOT NULL,
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    version TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (name, part)
)`
}}

func onConflict(table string, values []string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + strings.Join(values, ", ") +
		") ON CONFLICT (name, part) DO NOTHING"
}
