package sqltable

import (
	"database/sql"
	"encoding/json"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// words is what is different on one engine.
type words struct {
	syntax statement.Syntax
	create func(guard string) string
	// upsert writes the rows that values adds, each in parentheses, in the order of names. A row that is there gets the
	// values of others, and stays as it is where there are none.
	upsert func(st *statement.Statement, table string, key, others []string, values func(*statement.Statement),
		names []string) *statement.Statement
	// exact makes the type of a text column one that compares byte by byte; nil where every text does.
	exact func(typ string) string
	// alter is how a column gets a collation that compares byte by byte.
	alter     func(table, column, typ string) string
	isolation *sql.TxOptions
	single    bool   // one connection writes at a time
	anyUnique bool   // an upsert goes by every unique index
	anyTime   bool   // a column of times takes any text
	floatText bool   // a float is a text for the driver
	fraction  int    // digits of seconds where a type does not say how many
	single32  string // the type of floats of 32 bits
	// stored makes of a value what the column stores, or says that it cannot; nil where the database says so.
	stored    func(t *engine.Table, c *engine.Column, raw json.RawMessage, v any) (any, error)
	noCasts   bool
	ticks     bool // there are times that hold no digits of seconds but ticks, or minutes
	padded    bool // blanks at the end of a text are not compared, whatever the collation
	returning bool // an upsert can return rows; then the guard has a column previous
	// text is how a parameter of a text is written, as param says it; nil is the placeholder.
	text func(c *engine.Column, v any, key bool) string
	// collate stands after a parameter that is compared with the guard's id, so that the two are of one collation.
	collate string
	bytes   string // how a parameter of bytes is written, with %s for the placeholder; "" is the placeholder
}

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
