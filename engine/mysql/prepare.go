package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// variablesSQL reads what is true for a connection: session values where there are any. It names variables of both
// families; a server shows those that it has.
const variablesSQL = `SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'server_uuid', 'gtid_domain_id', 'server_id',
	'sql_mode', 'read_only', 'wsrep_on')`

// Prepare implements engine.Dialect.
func (Dialect) Prepare(ctx context.Context, conn *sql.Conn, with engine.Settings) (engine.Server, error) {
	var l engine.Server
	v, err := readVariables(ctx, conn)
	if err != nil {
		return l, fmt.Errorf("read the server's variables: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"); err != nil {
		return l, fmt.Errorf("make the session read-only: %w", err)
	}
	if _, err := conn.ExecContext(ctx, sessionSQL(with, v)); err != nil {
		return l, fmt.Errorf("set the session's settings: %w", err)
	}
	l.Version = "MySQL " + v["version"]
	if isMariaDB(v["version"]) {
		l.Version = "MariaDB " + v["version"]
	}
	if l.Incarnation, err = incarnationOf(ctx, conn, v); err != nil {
		return l, err
	}
	if mode := v["read_only"]; mode != "" && mode != "OFF" && mode != "0" {
		l.ReadOnly = true
		l.Warnings = append(l.Warnings, "the server is read-only, a replica for instance: rows arrive with its delay")
	}
	return l, nil
}

// Refresh does nothing: a server says nothing of itself with a statement.
func (Dialect) Refresh(context.Context, *sql.Conn, *engine.Server) error { return nil }

func isMariaDB(version string) bool { return strings.Contains(strings.ToLower(version), "mariadb") }

func readVariables(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	v := map[string]string{}
	err := engine.EachRow(ctx, conn, variablesSQL, nil, func(scan func(...any) error) error {
		var name string
		var value sql.NullString
		if err := scan(&name, &value); err != nil {
			return err
		}
		v[strings.ToLower(name)] = value.String
		return nil
	})
	return v, err
}

// ownSession sets a variable of the session that nobody reads. A proxy that shares server connections between its
// clients keeps the one that has such variables for the client that set them: ProxySQL turns multiplexing off, RDS
// Proxy pins the session. MySQL has no settings for a transaction alone, and on a shared connection ours would be other
// programs'. A failover then ends our connection, too.
const ownSession = "@rowrelay_own_session = 1"

// freshCatalog makes information_schema tell of a table's CREATE_TIME and AUTO_INCREMENT as they are, where MySQL 8
// would tell what they were up to a day ago. MariaDB has no such variable, and no such memory.
const freshCatalog = "/*!80000 , information_schema_stats_expiry = 0 */"

// sessionSQL sets what reading depends on: the zone that TIMESTAMP is shown in, and that a stored zero date, or the
// 31st of February, is still equal to itself (otherwise a CAST of it is NULL, and a page after it would be empty for
// ever). An empty text stays one: a key that is empty would be NULL in the next page's condition. The rest of sql_mode
// stays, because the user's condition may depend on it.
func sessionSQL(with engine.Settings, variables map[string]string) string {
	modes := []string{"ALLOW_INVALID_DATES"}
	for mode := range strings.SplitSeq(variables["sql_mode"], ",") {
		if !slices.Contains([]string{"", "NO_ZERO_DATE", "NO_ZERO_IN_DATE", "TRADITIONAL", "STRICT_TRANS_TABLES",
			"STRICT_ALL_TABLES", "ALLOW_INVALID_DATES", "EMPTY_STRING_IS_NULL"}, mode) {
			modes = append(modes, mode)
		}
	}
	// The server gives up a little before the client does: then the connection stays good.
	ms := max(with.Timeout.Milliseconds()-with.Timeout.Milliseconds()/20, 1)
	seconds := strconv.FormatInt(max(ms/1000, 1), 10)
	limit := "max_execution_time = " + strconv.FormatInt(ms, 10)
	if isMariaDB(variables["version"]) {
		limit = fmt.Sprintf("max_statement_time = %d.%03d", ms/1000, ms%1000)
	}
	return "SET " + ownSession + ", time_zone = '+00:00', sql_mode = '" + strings.Join(modes, ",") +
		"', lock_wait_timeout = " + seconds + ", " + limit + orphaned + " " + freshCatalog
}
