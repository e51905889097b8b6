//go:build !small

package publisher

import (
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

var textsOf = map[string]texts{
	"postgres": {syntax: postgres.Statement{}, low: postgres.Low, claims: postgres.Claims{}, rows: postgres.Outbox{},
		values: postgres.Mapping{}, resolve: postgres.Resolve, kind: postgres.KindOf},
	"mysql": {syntax: mysql.Statement{}, claims: mysql.Claims{}, rows: mysql.Outbox{}, values: mysql.Mapping{},
		resolve: mysql.Resolve, kind: column.KindOf, longestID: 255},
	"sqlite": sqliteTexts,
	"sqlserver": {syntax: sqlserver.Statement{}, low: sqlserver.Low, claims: sqlserver.Claims{}, rows: sqlserver.Outbox{},
		values: sqlserver.Mapping{}, resolve: sqlserver.Resolve, kind: column.KindOf, ready: sqlserver.Ready,
		mostRows: sqlserver.MostRows, longestID: 255},
}
