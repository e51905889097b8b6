package sqltable

import (
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// sqliteWords are in every program, also the small one.
var sqliteWords = words{syntax: sqlite.Statement{}, create: createWith("TEXT", "TEXT", "TEXT", true, ""),
	upsert: onConflict(""), alter: func(string, string, string) string {
		return "SQLite alters no column, so make the table anew without COLLATE"
	}, stored: inSQLite, single: true, anyTime: true, returning: true}

func createWith(scope, hash, id string, returning bool, options string) func(string) string {
	previous := ""
	if returning {
		previous = ",\n    previous " + id
	}
	return func(guard string) string {
		return `CREATE TABLE IF NOT EXISTS ` + guard + ` (
    id ` + hash + ` NOT NULL PRIMARY KEY,
    scope ` + scope + ` NOT NULL,
    token bigint NOT NULL,
    number bigint NOT NULL,
    event_id ` + id + ` NOT NULL` + previous + `
)` + options
	}
}

func insert(st *statement.Statement, table string, names []string, overriding string,
	values func(*statement.Statement)) *statement.Statement {
	st.Add("INSERT INTO ", table, " (", list(names, st.Syntax.Quote), ")", overriding, " VALUES ")
	values(st)
	return st
}

// onConflict is the upsert of PostgreSQL and SQLite; overriding stands before VALUES.
func onConflict(overriding string) func(*statement.Statement, string, []string, []string, func(*statement.Statement),
	[]string) *statement.Statement {
	return func(st *statement.Statement, table string, key, others []string, values func(*statement.Statement),
		names []string) *statement.Statement {
		quote := st.Syntax.Quote
		insert(st, table, names, overriding, values).Add(" ON CONFLICT (", list(key, quote), ") DO ")
		if len(others) == 0 {
			return st.Add("NOTHING")
		}
		return st.Add("UPDATE SET ", list(others, func(c string) string { return quote(c) + " = excluded." + quote(c) }))
	}
}
