//go:build !small

package sqltable

import (
	"database/sql"
	"strings"
	"unicode"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// wordsOf are the engines that rows are written into.
var wordsOf = map[string]words{
	// A copy of the source's table may have its GENERATED ALWAYS AS IDENTITY.
	"postgres": {syntax: postgres.Statement{}, create: createWith("varchar(400)", "varchar(32)", "varchar(128)", true, ""),
		upsert: onConflict(" OVERRIDING SYSTEM VALUE"), alter: func(table, column, _ string) string {
			return "ALTER TABLE " + table + " ALTER COLUMN " + column + ` TYPE text COLLATE "C"`
		}, fraction: 6, floatText: true, single32: "real", returning: true},
	"sqlite": sqliteWords,
	"mysql": {syntax: mysql.Statement{}, create: createWith("varchar(400)", "varchar(32)", "varchar(128)", false,
		" ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 "+mysql.Statement{}.Exact()),
		upsert: onDuplicate, exact: exactMySQL, alter: func(table, column, typ string) string {
			return "ALTER TABLE " + table + " MODIFY " + column + " " + exactMySQL(typ) + " NOT NULL"
		},
		isolation: &sql.TxOptions{Isolation: sql.LevelReadCommitted}, single32: "float", anyUnique: true, noCasts: true},
	// A NULL has no type of its own, and that of a text does not become bytes.
	"sqlserver": {syntax: sqlserver.Statement{}, create: createSQLServer, upsert: merge,
		padded: true, ticks: true, fraction: 7, single32: "real", exact: exactSQLServer,
		alter: func(table, column, typ string) string {
			return "drop the key, ALTER TABLE " + table + " ALTER COLUMN " + column + " " + exactSQLServer(typ) +
				" NOT NULL, and make the key again"
		},
		isolation: &sql.TxOptions{Isolation: sql.LevelReadCommitted}, bytes: "CAST(%s AS varbinary(max))",
		text: textSQLServer, collate: sqlserver.Statement{}.Exact()},
}

func exactMySQL(typ string) string {
	return typ + " CHARACTER SET utf8mb4 " + mysql.Statement{}.Exact()
}

// exactSQLServer makes char and varchar Unicode: the collation's code page has few letters.
func exactSQLServer(typ string) string {
	if !strings.HasPrefix(typ, "n") {
		typ = "n" + typ
	}
	return typ + sqlserver.Statement{}.Exact()
}

// textSQLServer is a text of the column's own type and collation. Compared with an nvarchar, a varchar is converted row
// by row, so that no index finds it. Into a varchar a letter that its code page lacks goes as a question mark, or as
// one like it, without a word: then the error of a conversion is made. A cast to the column's length would cut.
func textSQLServer(c *engine.Column, v any, key bool) string {
	const plain, large = "varchar(8000)", "varchar(max)"
	text, _ := v.(string)
	collation, typ := c.Value.Collate, plain
	switch {
	case collation == "", strings.HasPrefix(c.Type, "n") && !key:
		return ""
	case strings.HasPrefix(c.Type, "n"):
		return "%s COLLATE " + collation
	case v == nil:
		return "CAST(%s AS " + plain + ")"
	case len(text) > 8000:
		typ = large
	}
	cast := "CAST(%s COLLATE " + collation + " AS " + typ + ")"
	beyond := func(r rune) bool { return r > unicode.MaxASCII }
	if strings.HasSuffix(collation, "_UTF8") || strings.IndexFunc(text, beyond) < 0 {
		return cast
	}
	name := engine.Literal(strings.ReplaceAll(c.Name, "'", "''"))
	return "CASE WHEN CAST(CAST(" + cast + " AS nvarchar(max)) AS varbinary(max)) = CAST(%s AS varbinary(max))" +
		" THEN " + cast + " ELSE CAST(CAST(N'the code page of column " + name +
		" lacks a letter of the text' + LEFT(%s, 0) AS int) AS " + typ + ") END"
}

func createSQLServer(guard string) string {
	exact := sqlserver.Statement{}.Exact()
	return `IF OBJECT_ID(N'` + strings.ReplaceAll(guard, "'", "''") + `', N'U') IS NULL
CREATE TABLE ` + guard + ` (
    id nvarchar(32)` + exact + ` NOT NULL PRIMARY KEY,
    scope nvarchar(400)` + exact + ` NOT NULL,
    token bigint NOT NULL,
    number bigint NOT NULL,
    event_id nvarchar(128)` + exact + ` NOT NULL
)`
}

// onDuplicate takes the lock of a row that is there by an update that changes nothing: a reader after INSERT IGNORE
// would have to ask for it, and two would wait for each other.
func onDuplicate(st *statement.Statement, table string, key, others []string, values func(*statement.Statement),
	names []string) *statement.Statement {
	quote := st.Syntax.Quote
	if len(others) == 0 {
		others = key[:1]
	}
	return insert(st, table, names, "", values).Add(" ON DUPLICATE KEY UPDATE ",
		list(others, func(c string) string { return quote(c) + " = VALUES(" + quote(c) + ")" }))
}

// merge is SQL Server's upsert. HOLDLOCK keeps the place of a row that is not there.
func merge(st *statement.Statement, table string, key, others []string, values func(*statement.Statement),
	names []string) *statement.Statement {
	quote := st.Syntax.Quote
	of := func(alias string) func(string) string { return func(c string) string { return alias + "." + quote(c) } }
	st.Add("MERGE INTO ", table, " WITH (HOLDLOCK) AS d USING (VALUES ")
	values(st)
	st.Add(") AS s (", list(names, quote), ") ON ")
	for i, c := range key {
		if i > 0 {
			st.Add(" AND ")
		}
		st.Add("d.", quote(c), " = s.", quote(c))
	}
	if len(others) > 0 {
		st.Add(" WHEN MATCHED THEN UPDATE SET ", list(others, func(c string) string { return quote(c) + " = s." + quote(c) }))
	}
	return st.Add(" WHEN NOT MATCHED THEN INSERT (", list(names, quote), ") VALUES (", list(names, of("s")), ");")
}
