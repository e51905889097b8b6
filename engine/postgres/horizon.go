package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

// horizonSQL tells the clock, whether a session of this database hides its transaction from this user (a role that
// is no member of pg_read_all_stats sees those of its own roles only; a standby shows nobody those of its primary;
// track_activities=off, which a session may set, hides when its transaction began from everybody), and the oldest
// transaction that writes or may yet:
//
//   - one that has a transaction id, since it has written;
//   - one that waits inside of a transaction ("idle in transaction"): now() is the transaction's begin, so what it writes
//     next may carry a cursor that is as old;
//   - one that holds a writer's lock on a table: its INSERT … SELECT may be reading still.
//
// A transaction that only reads, for as long as one statement takes, is not counted: a backup would hold the edge back
// for hours. What it writes afterwards with now() is as old as it is; docs/late-commits.md says so.
//
// On a standby it tells how far that has replayed. It is 1970 where nothing was replayed since its start.
//
// Prepared transactions have no session. When one began is not shown, only when it was prepared: a day before is taken,
// so that it holds the edge for certain.
//
// It asks the functions below the views, which cost three times as much to plan: it is asked between two pages.
const horizonSQL = `WITH here AS (
	SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()
), sessions AS MATERIALIZED (
	SELECT a.* FROM pg_catalog.pg_stat_get_activity(NULL) a
	WHERE a.datid = (SELECT oid FROM here) AND a.pid <> pg_backend_pid()
), hidden AS (
	SELECT count(*) AS n FROM sessions a
	WHERE a.usesysid IS NOT NULL AND (a.state = 'disabled' OR a.backend_xid IS NOT NULL AND a.xact_start IS NULL
		OR NOT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE') AND NOT pg_catalog.pg_has_role(a.usesysid, 'USAGE'))
), writers AS (
	SELECT a.xact_start AS since, 'pid ' || a.pid AS who, a.application_name AS app, a.usesysid AS usr,
		host(a.client_addr) AS host
	FROM sessions a
	WHERE a.xact_start IS NOT NULL AND (a.backend_xid IS NOT NULL OR a.state = 'idle in transaction'
		OR a.pid IN (SELECT l.pid FROM pg_catalog.pg_lock_status() l WHERE l.locktype = 'relation' AND l.granted ` +
	`AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')))
	UNION ALL
	SELECT p.prepared - interval '1 day', 'the prepared transaction ' || p.gid, '', p.ownerid, ''
	FROM pg_catalog.pg_prepared_xact() p WHERE p.dbid = (SELECT oid FROM here)
)
SELECT clock_timestamp(), hidden.n + pg_is_in_recovery()::int, w.since, coalesce(w.who, ''), coalesce(w.app, ''),
	coalesce(pg_catalog.pg_get_userbyid(w.usr)::text, ''), coalesce(w.host, ''),
	CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_xact_replay_timestamp(), 'epoch') END
FROM hidden LEFT JOIN (SELECT * FROM writers ORDER BY since LIMIT 1) w ON true`

// Horizon implements engine.Dialect.
func (Dialect) Horizon(ctx context.Context, conn *sql.Conn, _ *engine.Looks) (change.Horizon, error) {
	var now time.Time
	var hidden int
	var since, replayed sql.NullTime
	var who, app, user, host string
	if err := conn.QueryRowContext(ctx, horizonSQL).Scan(&now, &hidden, &since, &who, &app, &user, &host,
		&replayed); err != nil {
		return change.Horizon{}, fmt.Errorf("read pg_stat_activity: %w", err)
	}
	h := change.Horizon{Now: now.UTC(), Shown: hidden == 0}
	if replayed.Valid {
		h.Replayed = replayed.Time.UTC()
	}
	if since.Valid {
		// Where some are hidden, one that is not may still be told of: it is true, if not the whole truth.
		h.Oldest = since.Time.UTC()
		h.By = engine.SessionOf(who, [2]string{"app", app}, [2]string{"user", user}, [2]string{"host", host})
	}
	return h, nil
}
