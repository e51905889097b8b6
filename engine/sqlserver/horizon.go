package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

const clockSQL = "SELECT SYSUTCDATETIME()"

// horizonSQL tells the oldest open transaction that is not read-only and has to do with this database. Begin times
// are the server's local time: the difference to its local clock counts. It takes VIEW SERVER STATE, on Azure SQL
// Database VIEW DATABASE STATE.
const horizonSQL = `SELECT TOP (1) DATEDIFF_BIG(millisecond, a.transaction_begin_time, GETDATE()), COALESCE(s.session_id, 0),
	COALESCE(s.program_name, N''), COALESCE(s.login_name, N''), COALESCE(s.host_name, N'')
FROM sys.dm_tran_active_transactions AS a
JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = a.transaction_id AND d.database_id = DB_ID()
LEFT JOIN sys.dm_tran_session_transactions AS t ON t.transaction_id = a.transaction_id
LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = t.session_id
WHERE a.transaction_type IN (1, 4) AND COALESCE(t.session_id, 0) <> @@SPID
ORDER BY a.transaction_begin_time`

// Horizon implements engine.Dialect.
func (Dialect) Horizon(ctx context.Context, conn *sql.Conn, _ *engine.Looks) (change.Horizon, error) {
	var h change.Horizon
	if err := conn.QueryRowContext(ctx, clockSQL).Scan(&h.Now); err != nil {
		return h, fmt.Errorf("read the clock: %w", err)
	}
	h.Now = h.Now.UTC()
	var age, session int64
	var program, login, host string
	err := conn.QueryRowContext(ctx, horizonSQL).Scan(&age, &session, &program, &login, &host)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		h.Shown = true
		return h, nil
	case err != nil:
		// A login that may not see other sessions' transactions (297, 300, 262), or a server that has no such view.
		e, found := errorOf(err)
		if kind := faultOf(e.Number); found && e.Class < 20 && kind != engine.FaultTransient && kind != engine.FaultTimeout &&
			kind != engine.FaultLocked {
			return h, nil
		}
		return h, fmt.Errorf("read sys.dm_tran_active_transactions: %w", err)
	}
	h.Shown, h.Oldest = true, h.Now.Add(-time.Duration(age)*time.Millisecond)
	h.By = "a transaction without a session"
	if session != 0 {
		h.By = engine.SessionOf(fmt.Sprintf("session %d", session), [2]string{"app", program}, [2]string{"user", login},
			[2]string{"host", host})
	}
	return h, nil
}
