//go:build !small

package engines

import (
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

var servers = map[string]server{
	dsn.SQLServer: {parseSQLServer, sqlserver.Dialect{}},
	dsn.Postgres:  {postgres.Parse, postgres.Dialect{}},
	dsn.MySQL:     {mysql.Parse, mysql.Dialect{}},
}

func parseSQLServer(text string) (engine.Connection, error) {
	c, err := sqlserver.Parse(text)
	if err != nil && dsn.IsOthersADO(text) {
		err = fmt.Errorf("%w: %s", err, dsn.NamesEngine)
	}
	return c, err
}

// ByIdentity is the connection to a SQL Server by an identity of Azure, without a connection string.
func ByIdentity(server, database, credential, clientID string) (engine.Connection, error) {
	return sqlserver.IdentityConnection(server, database, credential, clientID)
}
