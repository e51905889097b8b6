package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrelay/rowrelay/sqltext"
)

// postgres is the dialect of PostgreSQL 12 and later, and of what speaks like it. Rows are read in the text format
// straight from the wire (postgres_read.go): numbers, decimals and times are copied, not parsed.
type postgres struct{}

func (postgres) engine() string { return enginePostgres }

func (postgres) syntax() syntax {
	return syntax{
		placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
		rowValues:   true,
		text:        sqltext.Postgres,
	}
}

func (postgres) quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// postgresSettings sets what reading depends on for the transaction, whatever the server's or role's defaults are: the
// text forms of values are parsed by these settings. Two settings bound what a frozen process can hold up on the
// server.
const postgresSettings = `SELECT set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO, YMD', true),
	set_config('IntervalStyle', 'iso_8601', true), set_config('bytea_output', 'hex', true),
	set_config('extra_float_digits', '1', true), set_config('client_encoding', 'UTF8', true),
	set_config('standard_conforming_strings', 'on', true),
	set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true),
	pg_backend_pid()::text || '/' || pg_postmaster_start_time()::text || '/' || pg_is_in_recovery()::text`

// postgresIdentity are the parts of the incarnation. A promotion begins a timeline, which the control file shows only
// once a checkpoint has completed; the name of the file that the log is written to shows it at once. A standby writes
// no log: it shows the timeline that it replays.
var postgresIdentity = []string{
	"(SELECT s.system_identifier::text FROM pg_catalog.pg_control_system() s)",
	`CASE WHEN pg_catalog.pg_is_in_recovery() THEN (SELECT greatest(c.timeline_id, r.min_recovery_end_timeline)::text
		FROM pg_catalog.pg_control_checkpoint() c, pg_catalog.pg_control_recovery() r)
		ELSE ('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint::text END`,
	"(SELECT d.oid::text FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())",
	"pg_catalog.current_database()::text",
}

// postgresCheckpoint is the timeline of a server that does not let everybody ask where its log is written.
const postgresCheckpoint = "(SELECT c.timeline_id::text FROM pg_catalog.pg_control_checkpoint() c)"

func (d postgres) ready(ctx context.Context, conn *sql.Conn, cfg *Config) (life, error) {
	var l life
	var pooled bool
	err := conn.Raw(func(raw any) error {
		s, err := postgresSessionOf(raw)
		if err != nil {
			return err
		}
		// The server gives up a little before the client does: then the connection stays good.
		s.timeout = strconv.FormatInt(max(cfg.Timeout.Milliseconds()-cfg.Timeout.Milliseconds()/20, 1), 10)
		if err := s.findIdentity(ctx); err != nil {
			return err
		}
		pooled, err = behindPooler(ctx, s.Conn().PgConn())
		return err
	})
	if err != nil {
		return l, fmt.Errorf("read the cluster's identity: %w", err)
	}
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT current_setting('server_version')").Scan(&version); err != nil {
		return l, fmt.Errorf("read the server's version: %w", err)
	}
	l.version = "PostgreSQL " + version
	if pooled {
		l.version += ", behind a connection pooler"
	}
	if err := d.refresh(ctx, conn, &l); err != nil {
		return l, err
	}
	if l.readOnly {
		l.warnings = append(l.warnings, "the server is a standby: rows arrive with its replication delay")
	}
	return l, nil
}

// findIdentity finds out what of itself the server shows to this role. Some providers, and some roles, may not call
// these functions: then that part of the incarnation is not known.
func (s *postgresSession) findIdentity(ctx context.Context) error {
	shown := slices.Clone(postgresIdentity)
	s.identity = "SELECT " + strings.Join(shown, ", ")
	_, err := s.readIdentity(ctx)
	if !postgresNoRight(err) {
		return err
	}
	for i, part := range postgresIdentity {
		shown[i] = "NULL"
		choices := []string{part}
		if i == 1 {
			choices = append(choices, postgresCheckpoint)
		}
		for _, choice := range choices {
			err := s.query(ctx, "SELECT "+choice, nil, nil, nil)
			if err == nil {
				shown[i] = choice
				break
			}
			if !postgresNoRight(err) {
				return err
			}
		}
	}
	s.identity = "SELECT " + strings.Join(shown, ", ")
	return nil
}

// readIdentity asks for the incarnation.
func (s *postgresSession) readIdentity(ctx context.Context) (incarnation string, err error) {
	var known bool
	err = s.query(ctx, s.identity, nil, nil, func(values [][]byte) (bool, error) {
		incarnation, known = enginePostgres, len(values[0]) > 0 || len(values[1]) > 0
		for _, v := range values {
			incarnation += "/" + string(v)
		}
		return true, nil
	})
	if !known {
		incarnation = ""
	}
	return incarnation, err
}

// knownServers bounds what a connection remembers: behind a pooler it meets many processes.
const knownServers = 64

// refresh takes over what the server said of itself with the last statement. A process that is new to the connection is
// asked. Its incarnation lasts as long as it does, but for a standby's, which may come to follow another server.
func (postgres) refresh(ctx context.Context, conn *sql.Conn, l *life) error {
	return conn.Raw(func(raw any) error {
		s, err := postgresSessionOf(raw)
		if err != nil {
			return err
		}
		l.readOnly = strings.HasSuffix(s.server, "/true")
		incarnation, known := s.known[s.server]
		if !known || l.readOnly {
			if incarnation, err = s.readIdentity(ctx); err != nil {
				return fmt.Errorf("read the cluster's identity: %w", err)
			}
			if s.known == nil || len(s.known) >= knownServers {
				s.known = map[string]string{}
			}
			s.known[s.server] = incarnation // of the process that said so, which behind a pooler may be another
		}
		l.incarnation, l.table = incarnation, ""
		if s.table != 0 {
			l.table = postgresTableIdentity(strconv.FormatUint(uint64(s.table), 10))
		}
		return nil
	})
}

// postgresTableIdentity is the identity of a table with an oid.
func postgresTableIdentity(oid string) string { return "oid " + oid }

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
