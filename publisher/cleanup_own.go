package publisher

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"
)

func (e *ownEvents) cleanable() error { return nil }

const cleanStates = "'PUBLISHED', 'DISCARDED'"

// clean looks at the next rows by seq, which needs no index of its own, and deletes what is old enough among them. Rows that
// stay (dead letters, what waits behind them) are passed. It ends where rows begin that were written within the retention:
// nothing behind them was published before it.
func (e *ownEvents) clean(ctx context.Context, after string, chunk int) (deleted int64, last string, err error) {
	from := int64(-1 << 63)
	if after != "" {
		if from, err = strconv.ParseInt(after, 10, 64); err != nil {
			return 0, "", fmt.Errorf("the position %q is no number: %w", after, err)
		}
	}
	var to, rows, old, early sql.NullInt64
	err = e.do(ctx, "look for published events to delete", func(ctx context.Context, q querier) error {
		return e.cleanLook(from, chunk).row(ctx, q, &to, &rows, &old, &early)
	})
	if err != nil || rows.Int64 == 0 {
		return 0, "", err
	}
	if old.Int64 > 0 {
		err = e.lowly(ctx, "delete published events", func(ctx context.Context, q querier, prefix string) error {
			deleted, err = e.cleanDelete(prefix, from, to.Int64).exec(ctx, q)
			return err
		})
	}
	if rows.Int64 < int64(chunk) || early.Int64 == 0 {
		return deleted, "", err
	}
	return deleted, strconv.FormatInt(to.Int64, 10), err
}

// cleanLook tells of the next chunk of rows: its last seq, how many there are, how many of them are to be deleted, and how
// many were written before the retention began.
func (e *ownEvents) cleanLook(from int64, chunk int) *statement {
	s := e.statement()
	s.add("SELECT MAX(k.seq), COUNT(*), SUM(k.old), SUM(k.early) FROM (SELECT ", e.seq("o"), " AS seq, CASE WHEN o.state IN (", cleanStates,
		") AND o.published_at < ", ago(s, e.cfg.Retention), " THEN 1 ELSE 0 END AS old")
	s.add(", CASE WHEN o.created_at < ", ago(s, e.cfg.Retention), " THEN 1 ELSE 0 END AS early FROM ", e.outbox.String(), " o WHERE ", e.seq("o"), " > ", s.arg(from))
	return s.add(" ORDER BY ", e.seq("o"), e.d.limit(s.arg(chunk)), ") k")
}

func (e *ownEvents) cleanDelete(prefix string, from, to int64) *statement {
	s := e.statement()
	seq := e.d.seq()
	return s.add(prefix, "DELETE FROM ", e.outbox.String(), " WHERE ", seq, " > ", s.arg(from), " AND ", seq, " <= ", s.arg(to),
		" AND state IN (", cleanStates, ") AND published_at < ", ago(s, e.cfg.Retention))
}

// lowly runs a transaction that shall give way to others. prefix stands before its first statement: SQL Server then chooses it
// where somebody has to lose a deadlock. PostgreSQL's waits for a lock end soon.
func (t *sqlTable) lowly(ctx context.Context, what string, work func(ctx context.Context, q querier, prefix string) error) error {
	return t.tx(ctx, what, func(ctx context.Context, q querier) error {
		prefix := ""
		switch t.d.engine() {
		case "sqlserver":
			prefix = "SET DEADLOCK_PRIORITY LOW; "
		case "postgres":
			if _, err := q.ExecContext(ctx, "SET LOCAL lock_timeout = '"+strconv.FormatInt(lockPatience.Milliseconds(), 10)+"ms'"); err != nil {
				return err
			}
		}
		return work(ctx, q, prefix)
	})
}

// lockPatience is how long a clean-up waits for somebody's lock.
const lockPatience = 2 * time.Second
