package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// settingsSQL sets what reading depends on for the transaction, whatever the server's or role's defaults are: the
// text forms of values are parsed by these settings. Three settings bound what a process that is frozen, or cut off,
// can hold up on the server.
const settingsSQL = `SELECT set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO, YMD', true),
	set_config('IntervalStyle', 'iso_8601', true), set_config('bytea_output', 'hex', true),
	set_config('extra_float_digits', '1', true), set_config('client_encoding', 'UTF8', true),
	set_config('standard_conforming_strings', 'on', true),
	set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true),
	set_config('idle_in_transaction_session_timeout', '` + orphaned + `', true),
	pg_backend_pid()::text || '/' || pg_postmaster_start_time()::text || '/' || pg_is_in_recovery()::text`

// wholeSQL makes a statement fail where row security would leave rows out of it.
const wholeSQL = `set_config('row_security', 'off', true)`

// settingsServer is the column of settingsSQL that tells the server.
const settingsServer = 10

// orderedSQL keeps the planner to the index that has a page in order, and to a look-up for each of its rows. It does
// not know how many rows lie between two snapshots, guesses a few, and would join and sort all of a backlog for each of
// its pages; and a merge reads the other table from its beginning for each. Where a sort is needed all the same, it
// counts as so dear that the server would compile the statement. Beside 10,000,000 changes each poll, of which most
// find nothing, started two further processes, which took 7 of its 8 ms.
const orderedSQL = `set_config('enable_sort', 'off', true), set_config('enable_mergejoin', 'off', true),
	set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)`

// Prepare implements engine.Dialect.
func (d Dialect) Prepare(ctx context.Context, conn *sql.Conn, with engine.Settings) (engine.Server, error) {
	var l engine.Server
	var pooled bool
	err := conn.Raw(func(raw any) error {
		s, err := sessionOf(raw)
		if err != nil {
			return err
		}
		// The server gives up a little before the client does: then the connection stays good.
		s.timeout = strconv.FormatInt(max(with.Timeout.Milliseconds()-with.Timeout.Milliseconds()/20, 1), 10)
		s.whole = with.Whole
		if err := s.findIdentity(ctx); err != nil {
			return err
		}
		if err := s.askWriters(ctx); err != nil {
			return err
		}
		pooled, err = behindPooler(ctx, s.Conn().PgConn())
		s.pooled = pooled
		return err
	})
	if err != nil {
		return l, fmt.Errorf("read the cluster's identity: %w", err)
	}
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT current_setting('server_version')").Scan(&version); err != nil {
		return l, fmt.Errorf("read the server's version: %w", err)
	}
	l.Version = "PostgreSQL " + version
	if pooled {
		l.Version += ", behind a connection pooler"
	}
	if err := d.Refresh(ctx, conn, &l); err != nil {
		return l, err
	}
	if l.ReadOnly {
		l.Warnings = append(l.Warnings, "the server is a standby: rows arrive with its replication delay")
	}
	return l, nil
}

// knownServers bounds what a connection remembers: behind a pooler it meets many processes.
const knownServers = 64

// Refresh takes over what the server said of itself with the last statement. A process that is new to the connection is
// asked. Its incarnation lasts as long as it does, but for a standby's, which may come to follow another server.
func (Dialect) Refresh(ctx context.Context, conn *sql.Conn, l *engine.Server) error {
	return conn.Raw(func(raw any) error {
		s, err := sessionOf(raw)
		if err != nil {
			return err
		}
		l.ReadOnly = strings.HasSuffix(s.server, "/true")
		incarnation, known := s.known[s.server]
		if !known || l.ReadOnly {
			if incarnation, err = s.readIdentity(ctx); err != nil {
				return fmt.Errorf("read the cluster's identity: %w", err)
			}
			if s.known == nil || len(s.known) >= knownServers {
				s.known = map[string]string{}
			}
			s.known[s.server] = incarnation // of the process that said so, which behind a pooler may be another
		}
		l.Incarnation, l.Table = incarnation, ""
		l.Writers = s.writers.note(s.server, incarnation, known || !s.pooled)
		if s.table != 0 {
			l.Table = tableIdentity(strconv.FormatUint(uint64(s.table), 10))
		}
		return nil
	})
}

// tableIdentity is the identity of a table with an oid.
func tableIdentity(oid string) string { return "oid " + oid }

// Explain implements engine.Dialect.
func (Dialect) Explain(ctx context.Context, conn *sql.Conn, text string, args []any) (string, error) {
	lines, err := engine.Texts(ctx, conn, "EXPLAIN "+text, args...)
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	return strings.Join(lines, "\n") + "\n", nil
}
