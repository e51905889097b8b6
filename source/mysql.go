package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/rowrelay/rowrelay/sqltext"
)

// mySQL is the dialect of MySQL 8 and MariaDB 10.11 and later.
//
// Row values are not used: MariaDB 10.11 reads (a, b) > (x, y) from the index's beginning (150,520 rows for a page of
// 501 in the middle of 200,000), the expanded form as a range (501). Literals are cast to the column's type where MySQL
// would compare as floating point or as text.
type mySQL struct{}

func (mySQL) engine() string { return engineMySQL }

func (mySQL) syntax() syntax {
	return syntax{
		placeholder: func(int) string { return "?" },
		positional:  true,
		text:        sqltext.MySQL,
	}
}

func (mySQL) quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// mysqlVariables reads what is true for a connection: session values where there are any. It names variables of both
// families; a server shows those that it has.
const mysqlVariables = `SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'server_uuid', 'gtid_domain_id', 'server_id',
	'sql_mode', 'read_only', 'wsrep_on')`

func (mySQL) ready(ctx context.Context, conn *sql.Conn, cfg *Config) (life, error) {
	var l life
	v, err := readVariables(ctx, conn)
	if err != nil {
		return l, fmt.Errorf("read the server's variables: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"); err != nil {
		return l, fmt.Errorf("make the session read-only: %w", err)
	}
	if _, err := conn.ExecContext(ctx, mysqlSession(cfg, v)); err != nil {
		return l, fmt.Errorf("set the session's settings: %w", err)
	}
	l.version = "MySQL " + v["version"]
	if isMariaDB(v["version"]) {
		l.version = "MariaDB " + v["version"]
	}
	// MySQL makes a server_uuid when a data directory is first used. MariaDB has none: its server_uid is a hash of the
	// network card and port, which change whenever a container starts again. What tells its servers apart is what the
	// replication's settings say; a restore in place does not show.
	switch {
	case v["server_uuid"] != "":
		l.incarnation = "mysql/" + v["server_uuid"]
	case v["server_id"] != "":
		l.incarnation = "mariadb/" + v["gtid_domain_id"] + "/" + v["server_id"]
	}
	if v["wsrep_on"] == "ON" {
		// Every node of a Galera cluster holds the same data; moving between them is no failover.
		l.incarnation = ""
		if l.incarnation, err = galera(ctx, conn); err != nil {
			return l, fmt.Errorf("read the cluster's identity: %w", err)
		}
	}
	if mode := v["read_only"]; mode != "" && mode != "OFF" && mode != "0" {
		l.readOnly = true
		l.warnings = append(l.warnings, "the server is read-only, a replica for instance: rows arrive with its delay")
	}
	return l, nil
}

// refresh: a server says nothing of itself with a statement.
func (mySQL) refresh(context.Context, *sql.Conn, *life) error { return nil }

func isMariaDB(version string) bool { return strings.Contains(strings.ToLower(version), "mariadb") }

func readVariables(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	v := map[string]string{}
	err := eachRow(ctx, conn, mysqlVariables, nil, func(scan func(...any) error) error {
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

func galera(ctx context.Context, conn *sql.Conn) (string, error) {
	var name, uuid string
	err := conn.QueryRowContext(ctx, "SHOW STATUS WHERE Variable_name = 'wsrep_cluster_state_uuid'").Scan(&name, &uuid)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return "galera/" + uuid, err
}

// mysqlOwn sets a variable of the session that nobody reads. A proxy that shares server connections between its clients
// keeps the one that has such variables for the client that set them: ProxySQL turns multiplexing off, RDS Proxy pins
// the session. MySQL has no settings for a transaction alone, and on a shared connection ours would be other programs'.
// A failover then ends our connection, too.
const mysqlOwn = "@rowrelay_own_session = 1"

// mysqlSession sets what reading depends on: the zone that TIMESTAMP is shown in, and that a stored zero date, or the
// 31st of February, is still equal to itself (otherwise a CAST of it is NULL, and a page after it would be empty for
// ever). The rest of sql_mode stays, because the user's condition may depend on it.
func mysqlSession(cfg *Config, variables map[string]string) string {
	modes := []string{"ALLOW_INVALID_DATES"}
	for mode := range strings.SplitSeq(variables["sql_mode"], ",") {
		if !slices.Contains([]string{"", "NO_ZERO_DATE", "NO_ZERO_IN_DATE", "TRADITIONAL", "STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "ALLOW_INVALID_DATES"}, mode) {
			modes = append(modes, mode)
		}
	}
	// The server gives up a little before the client does: then the connection stays good.
	ms := max(cfg.Timeout.Milliseconds()-cfg.Timeout.Milliseconds()/20, 1)
	seconds := strconv.FormatInt(max(ms/1000, 1), 10)
	limit := "max_execution_time = " + strconv.FormatInt(ms, 10)
	if isMariaDB(variables["version"]) {
		limit = fmt.Sprintf("max_statement_time = %d.%03d", ms/1000, ms%1000)
	}
	return "SET " + mysqlOwn + ", time_zone = '+00:00', sql_mode = '" + strings.Join(modes, ",") + "', lock_wait_timeout = " + seconds + ", " + limit
}

// explain shows the classic EXPLAIN, one line per step.
func (mySQL) explain(ctx context.Context, conn *sql.Conn, text string, args []any) (out string, err error) {
	rows, err := conn.QueryContext(ctx, "EXPLAIN "+text, args...)
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	defer func() {
		if closed := rows.Close(); err == nil && closed != nil {
			err = fmt.Errorf("explain: %w", closed)
		}
	}()
	names, err := rows.Columns()
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	var b strings.Builder
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return "", fmt.Errorf("explain: %w", err)
		}
		var parts []string
		for i, v := range values {
			if v.Valid && v.String != "" {
				parts = append(parts, names[i]+"="+v.String)
			}
		}
		b.WriteString(strings.Join(parts, "  ") + "\n")
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	return b.String(), nil
}

// classify follows the error references of MySQL 8 and MariaDB.
func (mySQL) classify(err error) fault {
	var e *mysql.MySQLError
	switch {
	case errors.As(err, &e):
		return mysqlFault(e.Number)
	case errors.Is(err, errSchemaChanged):
		return faultSchema
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync),
		errors.Is(err, driver.ErrBadConn):
		return faultTransient
	}
	return faultOther
}

func mysqlFault(number uint16) fault {
	switch number {
	case 1213, 1020, // deadlock; the record changed since it was read
		1040, 1203, 1226, 1041, 1037, 1038, // too many connections, resources
		1053, 1077, 1079, 1080, 1927, 1317, // shutting down, killed
		1047,                                     // Galera: the node is not ready
		1158, 1159, 1160, 1161, 1184, 1152, 1105, // connection aborted; unknown, which proxies use for a lost backend
		2003, 2006, 2013, 2055, 4031, 3159, 1836, 1792: // lost, idle too long
		return faultTransient
	case 1205, 3572: // lock wait, NOWAIT
		return faultLocked
	case 3024, 1969: // max_execution_time, max_statement_time
		return faultTimeout
	case 1044, 1045, 1049, 1130, 1698, 1251, 1820, 1862, 3118, 3955, 4151, 1129, 2059:
		return faultLogin
	case 1142, 1143, 1227, 1370, 1345, 1419:
		return faultDenied
	case 1146, 1054, 1051, 1109, 1356, 1305, 1630, 1932:
		return faultSchema
	case 1064, 1248, 1060, 1052, 1055, 1056, 1111, 1140, 1222, 1241, 1242, 1267, 1270, 1271, 1463, 1582, 1583, 1149:
		return faultSyntax
	}
	return faultOther
}
