//go:build !small

package sqlstore

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/engine/statement"
)

var textsOf = map[string]texts{
	"postgres": {syntax: postgres.Statement{}, deadlock: postgres.Deadlock, insert: onConflict,
		create: func(table statement.Name) string {
			return `CREATE TABLE IF NOT EXISTS ` + table.String() + ` (
    name varchar(440) COLLATE "C" NOT NULL,
    part integer NOT NULL,
    parts integer NOT NULL,
    version varchar(40) NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (name, part)
) WITH (fillfactor = 50)`
		}},
	"sqlite": sqliteTexts,
	"mysql": {syntax: mysql.Statement{}, deadlock: mysql.Deadlock, insert: func(table string, values []string) string {
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
	"sqlserver": {syntax: sqlserver.Statement{}, deadlock: sqlserver.Deadlock, insert: func(
		table string, values []string) string {
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
