//go:build !small

package publisher

import (
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

var textsOf = map[string]texts{
	"postgres": {syntax: postgres.Statement{}, low: postgres.Low, tables: postgres.Tables{},
		claims: postgres.Claims{}, rows: postgres.Outbox{}, values: postgres.Mapping{}},
	"mysql": {syntax: mysql.Statement{}, tables: mysql.Tables{}, claims: mysql.Claims{}, rows: mysql.Outbox{},
		values: mysql.Mapping{}, longestID: 255},
	"sqlite": sqliteTexts,
	"sqlserver": {syntax: sqlserver.Statement{}, low: sqlserver.Low, tables: sqlserver.Tables{},
		claims: sqlserver.Claims{}, rows: sqlserver.Outbox{}, values: sqlserver.Mapping{}, mostRows: sqlserver.MostRows,
		longestID: 255},
}
