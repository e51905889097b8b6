// Package typerules is what the engines make of every type of their catalogs: docs/values.md and tests are checked
// against it.
package typerules

import (
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

// Rule is one line of docs/values.md.
type Rule struct {
	// Name is the type as the engine's catalog names it; sample a full type that the dialect maps by the same code as
	// a column's: numeric(10,2).
	Name, Sample string
	// Value is the mapping of the sample.
	Value engine.Value
	// Note is for people: the form of the value, in a few words.
	Note string
}

// Of are the rules of an engine.
func Of(d engine.Dialect) []Rule {
	switch name := d.Syntax().Name; name {
	case mysql.Dialect{}.Syntax().Name:
		return mysqlRules()
	case postgres.Dialect{}.Syntax().Name:
		return postgresRules()
	case sqlite.Dialect{}.Syntax().Name:
		return sqliteRules()
	case sqlserver.Dialect{}.Syntax().Name:
		return sqlserverRules()
	default:
		panic(fmt.Sprintf("no rules of %s", name))
	}
}
