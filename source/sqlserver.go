package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/sqltext"
)

// sqlServer is the dialect of SQL Server 2016 and later, Azure SQL Database and Managed Instance.
//
// Every parameter is cast to its column's own type: SQL Server otherwise converts the column, which costs the index
// seek, and for the legacy datetime makes equality wrong (.187 is .1866667 once it is a datetime2).
type sqlServer struct{}

func (sqlServer) engine() string { return engineSQLServer }

func (sqlServer) syntax() syntax {
	return syntax{
		placeholder: func(n int) string { return "@p" + strconv.Itoa(n) },
		top:         true,
		unites:      true,
		text:        sqltext.SQLServer,
	}
}

func (sqlServer) quote(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

// sqlServerLife reads what is true for a connection. A restored or copied database has a create_date of its own.
// The database is named: on Azure SQL Database its number in sys.databases is not DB_ID()'s.
const sqlServerLife = `SELECT CAST(SERVERPROPERTY(N'EngineEdition') AS int), CAST(SERVERPROPERTY(N'ProductVersion') AS nvarchar(128)),
	CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS nvarchar(128)), CONVERT(nvarchar(33), d.create_date, 126)
FROM sys.databases AS d
WHERE d.name = DB_NAME()`

// sqlServerFork reads the recovery fork: a restore over the same database keeps create_date and begins a new fork.
// Azure SQL Database has no such view.
const sqlServerFork = `SELECT CAST(r.recovery_fork_guid AS nvarchar(36))
FROM sys.database_recovery_status AS r
WHERE r.database_id = DB_ID()`

// sqlServerGroup reads the number that a database has in all replicas of its availability group. Every login sees its
// own database's.
const sqlServerGroup = `SELECT CAST(d.group_database_id AS nvarchar(36))
FROM sys.databases AS d
WHERE d.name = DB_NAME()`

// sqlServerBroker reads the service broker's number, which is copied with the data. It is asked of Azure SQL Database,
// which shows neither fork nor group.
const sqlServerBroker = `SELECT CAST(d.service_broker_guid AS nvarchar(36))
FROM sys.databases AS d
WHERE d.name = DB_NAME()`

// sqlServerLinks reads the links of geo-replication of Azure SQL Database, which both ends name alike. It takes VIEW
// DATABASE STATE.
const sqlServerLinks = `SELECT CAST(l.link_guid AS nvarchar(36))
FROM sys.dm_geo_replication_link_status AS l
ORDER BY l.link_guid`

// sqlServerSession bounds waits for locks on the server's side: ending a context alone sends an attention, which the
// driver waits for. It is a batch, not a parametrised statement, whose SET would end with it.
func sqlServerSession(cfg *Config) string {
	// The server gives up a little before the client does: then the connection stays good.
	wait := max(cfg.Timeout.Milliseconds()-cfg.Timeout.Milliseconds()/20, 1)
	return "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT " + strconv.FormatInt(wait, 10)
}

// Azure SQL Database, of the values of SERVERPROPERTY('EngineEdition').
const editionAzureSQL = 5

func (sqlServer) ready(ctx context.Context, conn *sql.Conn, cfg *Config) (life, error) {
	var l life
	if _, err := conn.ExecContext(ctx, sqlServerSession(cfg)); err != nil {
		return l, fmt.Errorf("set the session's settings: %w", err)
	}
	var edition sql.NullInt64
	var version, updateability, created sql.NullString
	if err := conn.QueryRowContext(ctx, sqlServerLife).Scan(&edition, &version, &updateability, &created); err != nil {
		return l, fmt.Errorf("read the database's creation date: %w", err)
	}
	l.version = "Microsoft SQL Server " + version.String
	parts := []string{sqlServerFork, sqlServerGroup, "", ""}
	if edition.Int64 == editionAzureSQL {
		l.version = "Azure SQL Database " + version.String
		parts = []string{"", "", sqlServerBroker, sqlServerLinks}
	}
	if updateability.String == "READ_ONLY" {
		l.readOnly = true
		l.warnings = append(l.warnings, "the database is read-only, a readable secondary for instance: rows arrive with its delay")
	}
	if created.Valid {
		l.incarnation = "sqlserver/" + created.String
		for _, text := range parts {
			shown, err := sqlServerShown(ctx, conn, text)
			if err != nil {
				return l, fmt.Errorf("read what tells one life of the database from the next: %w", err)
			}
			l.incarnation += "/" + shown
		}
	}
	if err := (sqlServer{}).isolate(ctx, conn, cfg, &l); err != nil {
		return l, err
	}
	return l, nil
}

// sqlServerShown reads one column, its values joined by a plus sign. A server or a login that does not show it has
// none; any other fault is one.
func sqlServerShown(ctx context.Context, conn *sql.Conn, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	var values []string
	err := eachRow(ctx, conn, text, nil, func(scan func(...any) error) error {
		var v sql.NullString
		if err := scan(&v); err != nil {
			return err
		}
		if v.Valid && v.String != "" {
			values = append(values, strings.ToLower(v.String))
		}
		return nil
	})
	if e, ok := sqlServerError(err); ok {
		if kind := sqlServerFault(e.Number); kind == faultSchema || kind == faultDenied || e.Number == sqlServerNoState {
			return "", nil
		}
	}
	return strings.Join(values, "+"), err
}

// sqlServerNoState says that VIEW DATABASE STATE is missing.
const sqlServerNoState = 262

// refresh: a failover ends every connection.
func (sqlServer) refresh(context.Context, *sql.Conn, *life) error { return nil }

// explain returns nothing: SHOWPLAN does not work on parametrised statements, and needs a permission of its own.
func (sqlServer) explain(context.Context, *sql.Conn, string, []any) (string, error) { return "", nil }

// sqlServerNotOpened says that the login's database cannot be opened.
const sqlServerNotOpened = 4060

// sqlServerError finds SQL Server's error in a chain.
func sqlServerError(err error) (mssql.Error, bool) {
	var e mssql.Error
	found := errors.As(err, &e)
	return e, found
}

// classify follows Microsoft's lists of transient errors for SQL Server and Azure SQL.
func (sqlServer) classify(err error) fault {
	var auth *azidentity.AuthenticationFailedError
	var stream mssql.StreamError
	if e, ok := sqlServerError(err); ok {
		kind := sqlServerFault(e.Number)
		for _, earlier := range e.All {
			// The last error may say only what follows from it: a login fails (18456) because the database cannot be opened (4060).
			if sqlServerFault(earlier.Number) == faultTransient {
				return faultTransient
			}
		}
		if kind == faultOther && e.Class >= 20 {
			return faultTransient // a severity that ends the connection
		}
		return kind
	}
	switch {
	case errors.Is(err, errSchemaChanged):
		return faultSchema
	case errors.As(err, &auth):
		return faultLogin
	case errors.As(err, &stream), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return faultTransient
	}
	return faultOther
}

func sqlServerFault(number int32) fault {
	switch number {
	case 1205, // deadlock victim
		3960, 3961, // snapshot conflict, schema changed under snapshot
		10928, 10929, 10930, 10936, 40549, 40550, // Azure SQL: resource limits, a session ended for them
		40197, 40501, 40540, 40143, 40613, // Azure SQL: processing error, busy, reconfiguration, unavailable
		49918, 49919, 49920, // Azure SQL: not enough resources
		4221,                                        // login to a secondary timed out
		sqlServerNotOpened, 921, 922, 926, 927, 941, // the database cannot be opened: starting, recovering, failing over, being restored
		601, 617, 669, // data moved under the scan
		42108, 42109, // a dedicated SQL pool that is paused or warming up
		978, 983, 976, 988, 3966, // availability group: not readable at the moment
		615, 9001, 9002, 701, 802, 8645, 8651, // log or memory not available
		10053, 10054, 10060, 10061, 233, 64, 121, 20, // connection lost, as the server or a gateway says it
		18401, 17197, 17142, 6005, 6006, // starting, paused, shutting down
		1203, 1204, 1221, // locks
		41301, 41302, 41305, 41325, 41839: // memory-optimised tables: dependency and validation
		return faultTransient
	case -2:
		return faultTimeout
	case 1222:
		return faultLocked
	case 3952, 41332: // snapshot isolation is not allowed in another database, nor for memory-optimised tables
		return faultVersions
	case 18456, 18452, 18470, 18486, 18487, 18488, 4064, 40532, 40615, 40914, 33134, 916, 47073, 47089:
		return faultLogin
	case 229, 230, 297, 300, 371, 15247, 15562:
		return faultDenied
	case 208, 207, 4121, 2812, 942, 911, 4104, 8155, 4413, 4502:
		return faultSchema
	case 102, 105, 103, 111, 113, 116, 137, 145, 156, 170, 209, 319, 1033, 4145, 8114, 8115, 8120, 8156, 8158, 10743, 11512,
		195, 241, 245, 402, 306:
		return faultSyntax
	}
	return faultOther
}
