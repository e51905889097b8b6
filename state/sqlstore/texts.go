package sqlstore

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
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
}

var textsOf = map[string]texts{
	"postgres": {syntax: postgres.Statement{}, insert: onConflict, create: func(table statement.Name) string {
		return `CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    name varchar(440) COLLATE "C" NOT NULL,
    part integer NOT NULL,
    parts integer NOT NULL,
    version varchar(40) NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (name, part)
) WITH (fillfactor = 50)`
	}},
	"sqlite": {syntax: sqlite.Statement{}, insert: onConflict, create: func(table statement.Name) string {
		return `CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    name TEXT NOT NULL,
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    version TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (name, part)
)`
	}},
	"mysql": {syntax: mysql.Statement{}, insert: func(table string, values []string) string {
		// IGNORE passes over a row that is there. What else it would let pass, a name that is too long, is refused before.
		return "INSERT IGNORE INTO " + table + " (" + columns + ") VALUES (" + strings.Join(values, ", ") + ")"
	}, create: func(table statement.Name) string {
		return `CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    name varchar(440) NOT NULL,
    part int NOT NULL,
    parts int NOT NULL,
    version varchar(40) NOT NULL,
    data longblob NOT NULL,
    PRIMARY KEY (name, part)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 ` + mysql.Statement{}.Exact()
	}},
	"sqlserver": {syntax: sqlserver.Statement{}, insert: func(table string, values []string) string {
		// HOLDLOCK keeps the place of a row that is not there, until the statement ends.
		return "INSERT INTO " + table + " (" + columns + ") SELECT " + strings.Join(values, ", ") +
			" WHERE NOT EXISTS (SELECT 1 FROM " + table + " WITH (UPDLOCK, HOLDLOCK) WHERE name = " + values[0] +
			" AND part = " + values[1] + ")"
	}, create: func(table statement.Name) string {
		return `IF OBJECT_ID(` + sqlserver.TextLiteral(table.String()) + `) IS NULL
CREATE TABLE ` + table.String() + ` (
    name nvarchar(440)` + sqlserver.Statement{}.Exact() + ` NOT NULL,
    part int NOT NULL,
    parts int NOT NULL,
    version nvarchar(40) NOT NULL,
    data varbinary(max) NOT NULL,
    PRIMARY KEY (name, part)
)`
	}},
}

func onConflict(table string, values []string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + strings.Join(values, ", ") +
		") ON CONFLICT (name, part) DO NOTHING"
}
