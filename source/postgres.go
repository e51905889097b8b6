package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgres is the dialect of PostgreSQL 12 and later, and of what speaks like it. Rows are read in the text format
// straight from the wire (postgres_read.go): numbers, decimals and times are copied, not parsed.
type postgres struct{}

func (postgres) engine() string { return enginePostgres }

func (postgres) syntax() syntax {
	return syntax{
		placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
		rowValues:   true,
		lexis:       lexis{dollar: true, nested: true},
	}
}

func (postgres) quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// postgresReady sets what reading depends on, whatever the server's or role's defaults are: the text forms of values
// are parsed by these settings. Two settings bound what a frozen process can hold up on the server.
const postgresReady = `SELECT set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO, YMD', false),
	set_config('IntervalStyle', 'iso_8601', false), set_config('bytea_output', 'hex', false),
	set_config('extra_float_digits', '1', false), set_config('client_encoding', 'UTF8', false),
	set_config('default_transaction_read_only', 'on', false), set_config('application_name', 'rowrelay', false),
	set_config('standard_conforming_strings', 'on', false),
	set_config('statement_timeout', $1, false), set_config('lock_timeout', $1, false)`

const postgresLife = `SELECT current_setting('server_version'), d.oid::text, d.datname, pg_is_in_recovery()
FROM pg_catalog.pg_database d WHERE d.datname = current_database()`

// postgresIdentity names the life of the cluster. Some providers, and some roles, may not call these functions: then
// the incarnation is unknown.
const postgresIdentity = `SELECT s.system_identifier::text, c.timeline_id::text
FROM pg_catalog.pg_control_system() s, pg_catalog.pg_control_checkpoint() c`

func (postgres) ready(ctx context.Context, conn *sql.Conn, cfg *Config) (life, error) {
	var l life
	// The server gives up a little before the client does: then the connection stays good.
	timeout := strconv.FormatInt(max(cfg.Timeout.Milliseconds()-cfg.Timeout.Milliseconds()/20, 1), 10)
	if _, err := conn.ExecContext(ctx, postgresReady, timeout); err != nil {
		return l, fmt.Errorf("set the session's settings: %w", err)
	}
	var version, oid, name string
	var standby bool
	if err := conn.QueryRowContext(ctx, postgresLife).Scan(&version, &oid, &name, &standby); err != nil {
		return l, fmt.Errorf("read the server's version: %w", err)
	}
	l.version = "PostgreSQL " + version
	if standby {
		l.readOnly = true
		l.warnings = append(l.warnings, "the server is a standby: rows arrive with its replication delay")
	}
	var system, timeline string
	switch err := conn.QueryRowContext(ctx, postgresIdentity).Scan(&system, &timeline); {
	case err == nil:
		l.incarnation = "postgres/" + system + "/" + timeline + "/" + oid + "/" + name
	case !sqlState(err, "42501", "42883", "0A000"):
		return l, fmt.Errorf("read the cluster's identity: %w", err)
	}
	return l, nil
}

// sqlState reports whether err is PostgreSQL's with one of the codes (five characters) or classes (two).
func sqlState(err error, codes ...string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	for _, code := range codes {
		if strings.HasPrefix(pg.Code, code) {
			return true
		}
	}
	return false
}

// classify follows the error codes of PostgreSQL's manual, appendix A.
func (postgres) classify(err error) fault {
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, errSchemaChanged):
		return faultSchema
	case sqlState(err, "57014"): // query_canceled: statement_timeout
		return faultTimeout
	case sqlState(err, "55P03"): // lock_not_available: lock_timeout
		return faultLocked
	case sqlState(err, "28", "3D000"):
		return faultLogin
	case sqlState(err, "42501"):
		return faultDenied
	case sqlState(err, "42P01", "42703", "42704", "3F000", "42883"):
		return faultSchema
	case sqlState(err, "0A000") && strings.Contains(err.Error(), "cached plan must not change"):
		return faultSchema
	case sqlState(err, "42"):
		return faultSyntax
	case sqlState(err, "08", "40", "53", "57P", "58"):
		return faultTransient
	case errors.As(err, &connect):
		return faultOther // what it wraps decides: a refused connection is transient, an unknown host is not
	case pgconn.SafeToRetry(err):
		return faultTransient
	}
	return faultOther
}

func (postgres) explain(ctx context.Context, conn *sql.Conn, text string, args []any) (string, error) {
	rows, err := conn.QueryContext(ctx, "EXPLAIN "+text, args...)
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	var b strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", fmt.Errorf("explain: %w", err)
		}
		b.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	return b.String(), nil
}
