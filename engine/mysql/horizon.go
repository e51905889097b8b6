package mysql

import (
	"context"
	cryptorand "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

// innodb_trx tells when a transaction began in the server's own zone (in newer versions, the session's), to the second.
// The session takes the server's zone for this one statement, so that both clocks are the same whichever it is; what
// counts is the difference. Every transaction that is not read-only counts: one that took its cursor's value and did
// not write yet has no row to be found.
//
// A transaction that XA PREPARE has left without a session has none here either. Since when it is open is not shown
// once the server was restarted: trx_started is then the restart's. A day before is taken, so that it holds the edge
// for certain.
//
// The first row is this session's own transaction, where the list has it, with whether the list was made for this very
// statement: it then holds the statement's text, and in that the mark that no other has.
const horizonSQL = `SELECT COALESCE(t.trx_query LIKE '%%%s%%', 0), t.trx_mysql_thread_id = CONNECTION_ID(),
` + elsewhereSQL + `,
SYSDATE(6), t.trx_started, CAST(t.trx_mysql_thread_id AS CHAR), COALESCE(p.USER, ''), COALESCE(p.HOST, '')
FROM information_schema.INNODB_TRX t LEFT JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_is_read_only = 0 OR t.trx_mysql_thread_id = CONNECTION_ID()
ORDER BY t.trx_mysql_thread_id <> CONNECTION_ID(), t.trx_mysql_thread_id <> 0, t.trx_started LIMIT 2`

// elsewhereSQL is true where threads of a replication write: on a replica, whether or not it is read-only, and on the
// nodes of a cluster. Rows come there from transactions that are open on another server. Without PROCESS it is false.
const elsewhereSQL = `EXISTS (SELECT 1 FROM information_schema.PROCESSLIST r WHERE r.USER = 'system user' AND r.COMMAND <> 'Daemon')`

// shownFor is how long the server shows the same: it makes its list of transactions anew where nobody has read it for
// 100 ms. Read more often, by whomever, it would be the same for ever.
const shownFor = 120 * time.Millisecond

// clockSQL is the seconds since 1970.
const clockSQL = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) AS CHAR)"

// Horizon implements engine.Dialect.
func (Dialect) Horizon(ctx context.Context, conn *sql.Conn, looks *engine.Looks) (change.Horizon, error) {
	now, err := databaseClock(ctx, conn)
	if err != nil {
		return change.Horizon{}, err
	}
	h, recent := looks.Within(shownFor)
	for again := !recent; again; {
		seen, isNew, err := transactions(ctx, conn, now)
		if err != nil {
			return seen, err
		}
		if h, again = looks.Saw(seen, isNew); !again {
			break
		}
		select {
		case <-time.After(shownFor + rand.N(shownFor)): //nolint:gosec // nothing secret
		case <-ctx.Done():
			return h, context.Cause(ctx)
		}
	}
	h.Now = now
	return h, nil
}

func databaseClock(ctx context.Context, conn *sql.Conn) (time.Time, error) {
	var clock string
	if err := conn.QueryRowContext(ctx, clockSQL).Scan(&clock); err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	seconds, err := strconv.ParseFloat(clock, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC(), nil
}

// transactions is what the server shows of them, at a time that its clock showed before, and whether that is new.
func transactions(ctx context.Context, conn *sql.Conn, at time.Time) (h change.Horizon, isNew bool, err error) {
	h.Now = at
	// A transaction with a snapshot is in the list, without one it is not before its first read. Others pass over one
	// that is read-only.
	for _, s := range [...]string{"SET time_zone = 'SYSTEM'", "START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT"} {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return h, false, fmt.Errorf("read innodb_trx: %s: %w", s, err)
		}
	}
	oldest, elsewhere, isNew, err := list(ctx, conn)
	// A failure here ends the session, so that no row is read in the wrong zone.
	for _, s := range [...]string{"COMMIT", "SET time_zone = '+00:00'"} {
		if _, back := conn.ExecContext(ctx, s); back != nil {
			return h, false, errors.Join(err, fmt.Errorf("read innodb_trx: %s: %w", s, back))
		}
	}
	var refused *mysql.MySQLError
	switch {
	case errors.As(err, &refused) && faultOf(refused.Number) == engine.FaultDenied:
		return h, true, nil // without the privilege PROCESS
	case err != nil:
		return h, false, fmt.Errorf("read innodb_trx: %w", err)
	case elsewhere:
		h.Elsewhere = true
		return h, isNew, nil
	case oldest == nil:
		h.Shown = true
		return h, isNew, nil
	}
	age, err := age(oldest.now, oldest.since)
	if err != nil {
		return h, false, fmt.Errorf("read innodb_trx: %w", err)
	}
	h.Shown, h.Oldest = true, h.Now.Add(-age)
	if oldest.thread == "0" {
		h.Oldest, h.By = h.Oldest.Add(-24*time.Hour),
			"a transaction without a session (XA RECOVER lists those that are prepared)"
		return h, isNew, nil
	}
	h.By = engine.SessionOf("connection "+oldest.thread, [2]string{"user", oldest.user}, [2]string{"host", oldest.host})
	return h, isNew, nil
}

// transaction is one in the list of the server.
type transaction struct {
	now, since string // the server's clock, and when it began
	thread     string
	user, host string
}

// list reads the oldest transaction but this session's own; nil where there is none. elsewhere says that rows come by
// replication, isNew that the list was made for this statement.
func list(ctx context.Context, conn *sql.Conn) (oldest *transaction, elsewhere, isNew bool, err error) {
	rows, err := conn.QueryContext(ctx, fmt.Sprintf(horizonSQL, "rowrelay "+strings.ToLower(cryptorand.Text())))
	if err != nil {
		return nil, false, false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for oldest == nil && rows.Next() {
		var t transaction
		var marked, own bool
		if err := rows.Scan(&marked, &own, &elsewhere, &t.now, &t.since, &t.thread, &t.user, &t.host); err != nil {
			return nil, false, false, err
		}
		if isNew = isNew || marked; !own {
			oldest = &t
		}
	}
	return oldest, elsewhere, isNew, rows.Err()
}

// age is the time between two wall clocks of one zone. It is negative where that zone put its clock back in between.
func age(now, since string) (time.Duration, error) {
	const layout = "2006-01-02 15:04:05.999999"
	to, err := time.Parse(layout, now)
	if err != nil {
		return 0, err
	}
	from, err := time.Parse(layout, since)
	if err != nil {
		return 0, err
	}
	return to.Sub(from), nil
}
