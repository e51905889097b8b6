// Package engines knows every database engine: it reads connection strings, and finds an engine by its name. To add an
// engine is to add a folder beside this one, and a line to each list here.
package engines

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/sqlite"
)

// Parse reads a connection string in any of these forms:
//
//	sqlserver://user:password@host:1433?database=shop        go-mssqldb's URL; fedauth=… for Microsoft Entra ID
//	Server=tcp:host,1433;Initial Catalog=shop;User ID=…      ADO.NET, as the Azure portal shows it
//	postgres://user:password@host:5432/shop                  also postgresql://; libpq's parameters
//	host=… user=… dbname=shop, Host=…;Username=…;Database=shop    libpq's form and Npgsql's
//	mysql://user:password@host:3306/shop?tls=true            also user:password@tcp(host:3306)/shop
//	sqlite:shop.db, sqlite:///var/lib/shop.db                an existing file
//
// Errors wrap change.ErrConfig and say what to do. They never hold any part of the string that could be secret.
func Parse(text string) (engine.Connection, error) { return ParseOf("", text) }

// ParseOf is Parse for the string of a setting, whose name may say the engine: MYSQLCONNSTR_… and POSTGRESQLCONNSTR_…
// hold ADO.NET's form.
func ParseOf(setting, text string) (engine.Connection, error) {
	c, err := parse(setting, strings.TrimSpace(text))
	if err != nil {
		return engine.Connection{}, fmt.Errorf("%w: connection string: %w", change.ErrConfig, err)
	}
	return c, nil
}

func parse(setting, text string) (engine.Connection, error) {
	name, err := dsn.RecogniseOf(setting, text)
	if err != nil {
		return engine.Connection{}, err
	}
	if name == dsn.SQLite {
		return sqlite.Parse(text)
	}
	e, ok := servers[name]
	if !ok {
		return engine.Connection{}, change.ErrSmall
	}
	return e.parse(text)
}

// server is an engine that is reached over a network. The small program (build tag small) has none of them.
type server struct {
	parse   func(text string) (engine.Connection, error)
	dialect engine.Dialect
}

// Find returns the dialect of an engine.
func Find(name string) (engine.Dialect, error) {
	if name == dsn.SQLite {
		return sqlite.Dialect{}, nil
	}
	if e, ok := servers[name]; ok {
		return e.dialect, nil
	}
	return nil, fmt.Errorf("%w: no dialect for engine %q", change.ErrConfig, name)
}
