package sqlserver

import (
	"context"
	"database/sql"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// The incarnation is sqlserver/create_date/recovery fork/database in the availability group/service
// broker/geo-replication link.

// createdSQL reads what is true for a connection. A restored or copied database has a create_date of its own.
// The database is named: on Azure SQL Database its number in sys.databases is not DB_ID()'s.
const createdSQL = `SELECT CAST(SERVERPROPERTY(N'EngineEdition') AS int), CAST(SERVERPROPERTY(N'ProductVersion') AS nvarchar(128)),
	CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS nvarchar(128)), CONVERT(nvarchar(33), d.create_date, 126)
FROM sys.databases AS d
WHERE d.name = DB_NAME()`

// forkSQL reads the recovery fork: a restore over the same database keeps create_date and begins a new fork.
// Azure SQL Database has no such view.
const forkSQL = `SELECT CAST(r.recovery_fork_guid AS nvarchar(36))
FROM sys.database_recovery_status AS r
WHERE r.database_id = DB_ID()`

// groupSQL reads the number that a database has in all replicas of its availability group. Every login sees its
// own database's.
const groupSQL = `SELECT CAST(d.group_database_id AS nvarchar(36))
FROM sys.databases AS d
WHERE d.name = DB_NAME()`

// brokerSQL reads the service broker's number, which is copied with the data. It is asked of Azure SQL Database,
// which shows neither fork nor group.
const brokerSQL = `SELECT CAST(d.service_broker_guid AS nvarchar(36))
FROM sys.databases AS d
WHERE d.name = DB_NAME()`

// linksSQL reads the links of geo-replication of Azure SQL Database, which both ends name alike. It takes VIEW
// DATABASE STATE.
const linksSQL = `SELECT CAST(l.link_guid AS nvarchar(36))
FROM sys.dm_geo_replication_link_status AS l
ORDER BY l.link_guid`

// shown reads one column, its values joined by a plus sign. A server or a login that does not show it has
// none; any other fault is one.
func shown(ctx context.Context, conn *sql.Conn, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	var values []string
	err := engine.EachRow(ctx, conn, text, nil, func(scan func(...any) error) error {
		var v sql.NullString
		if err := scan(&v); err != nil {
			return err
		}
		if v.Valid && v.String != "" {
			values = append(values, strings.ToLower(v.String))
		}
		return nil
	})
	if e, ok := errorOf(err); ok {
		if kind := faultOf(e.Number); kind == engine.FaultSchema || kind == engine.FaultDenied || e.Number == noState {
			return "", nil
		}
	}
	return strings.Join(values, "+"), err
}

// noState says that VIEW DATABASE STATE is missing.
const noState = 262

// The parts of SQL Server's incarnation.
const (
	partCreated = 1 + iota
	partFork
	partGroup
	partBroker
	partLink
)

// Related tells restores from failovers. Every replica has a create_date of its own. A RESTORE begins a
// recovery fork, and so does a failover that was forced; a planned one does not. A database has one number in all
// replicas of its availability group, and gets another one when it is restored and joined again. Azure SQL Database
// shows neither: there the service broker's number is copied with the data, to a geo-secondary as well as to a restored
// copy, and the link between two replicas tells these apart where the login may see it.
func (Dialect) Related(a, b []string) engine.Relation {
	switch {
	case !engine.Differ(a, b, partCreated) && !engine.Differ(a, b, partFork):
		return engine.SameDatabase
	case engine.Same(a, b, partGroup):
		return engine.FailedOver
	case engine.Differ(a, b, partGroup), engine.Differ(a, b, partFork), engine.Differ(a, b, partLink):
		return engine.AnotherDatabase
	case engine.Same(a, b, partFork), engine.Same(a, b, partLink):
		return engine.FailedOver
	case engine.Same(a, b, partBroker): // only Azure SQL Database's is read
		return engine.FailedOver
	}
	return engine.AnotherDatabase
}
