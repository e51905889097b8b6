package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
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
const horizonSQL = `SELECT SYSDATE(6), t.trx_started, CAST(t.trx_mysql_thread_id AS CHAR), COALESCE(p.USER, ''), COALESCE(p.HOST, '')
FROM information_schema.INNODB_TRX t LEFT JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
WHERE t.trx_is_read_only = 0 AND t.trx_mysql_thread_id <> CONNECTION_ID()
ORDER BY t.trx_mysql_thread_id <> 0, t.trx_started LIMIT 1`

// shownFor is how long the server shows the same: it makes its list of transactions anew where nobody has read it for
// 100 ms. Read more often it would be the same for ever.
const shownFor = 120 * time.Millisecond

// clockSQL is the seconds since 1970.
const clockSQL = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) AS CHAR)"

// Horizon implements engine.Dialect.
func (Dialect) Horizon(ctx context.Context, conn *sql.Conn, looks *engine.Looks) (engine.Horizon, error) {
	now, err := databaseClock(ctx, conn)
	if err != nil {
		return engine.Horizon{}, err
	}
	h, recent := looks.Within(shownFor)
	if !recent {
		if h, err = transactions(ctx, conn, now); err != nil {
			return h, err
		}
		looks.Keep(h)
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

// transactions is what the server shows of them, at a time that its clock showed before.
func transactions(ctx context.Context, conn *sql.Conn, at time.Time) (engine.Horizon, error) {
	h := engine.Horizon{Now: at}
	if _, err := conn.ExecContext(ctx, "SET time_zone = 'SYSTEM'"); err != nil {
		return h, fmt.Errorf("set the session's zone: %w", err)
	}
	var now, since, thread, user, host string
	err := conn.QueryRowContext(ctx, horizonSQL).Scan(&now, &since, &thread, &user, &host)
	// A failure here ends the session, so that no row is read in the wrong zone.
	if _, reset := conn.ExecContext(ctx, "SET time_zone = '+00:00'"); reset != nil {
		return h, errors.Join(err, fmt.Errorf("set the session's zone back: %w", reset))
	}
	var refused *mysql.MySQLError
	switch {
	case errors.As(err, &refused) && faultOf(refused.Number) == engine.FaultDenied:
		return h, nil // without the privilege PROCESS
	case errors.Is(err, sql.ErrNoRows):
		h.Shown = true
		return h, nil
	case err != nil:
		return h, fmt.Errorf("read innodb_trx: %w", err)
	}
	age, err := age(now, since)
	if err != nil {
		return h, fmt.Errorf("read innodb_trx: %w", err)
	}
	h.Shown, h.Oldest = true, h.Now.Add(-age)
	if thread == "0" {
		h.Oldest, h.By = h.Oldest.Add(-24*time.Hour),
			"a transaction without a session (XA RECOVER lists those that are prepared)"
		return h, nil
	}
	h.By = engine.SessionOf("connection "+thread, [2]string{"user", user}, [2]string{"host", host})
	return h, nil
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
