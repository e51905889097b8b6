package rows

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Cleanable is never an error here: every table of this layout can be cleaned up.
func (e *Table) Cleanable() error { return nil }

const cleanStates = "'PUBLISHED', 'DISCARDED'"

// Clean looks at the next rows by seq, which needs no index of its own, and deletes what is old enough among them.
// Rows that stay (dead letters, what waits for them) are passed. It ends where rows begin that were written within
// the retention: nothing after them was published before it.
func (e *Table) Clean(ctx context.Context, after string, chunk int) (deleted int64, last string, err error) {
	from := int64(-1 << 63)
	if after != "" {
		if from, err = strconv.ParseInt(after, 10, 64); err != nil {
			return 0, "", fmt.Errorf("the position %q is no number: %w", after, err)
		}
	}
	var to, rows, old, early sql.NullInt64
	err = e.db.Do(ctx, "look for published events to delete", func(ctx context.Context, q statement.Querier) error {
		return e.CleanLook(from, chunk).Row(ctx, q, &to, &rows, &old, &early)
	})
	if err != nil || rows.Int64 == 0 {
		return 0, "", err
	}
	if old.Int64 > 0 {
		err = e.db.TxLow(ctx, "delete published events", func(ctx context.Context, q statement.Querier,
			prefix string) error {
			deleted, err = e.CleanDelete(prefix, from, to.Int64).Exec(ctx, q)
			return err
		})
	}
	if rows.Int64 < int64(chunk) || early.Int64 == 0 {
		return deleted, "", err
	}
	return deleted, strconv.FormatInt(to.Int64, 10), err
}

// CleanLook tells of the next chunk of rows: its last seq, how many there are, how many of them are to be deleted,
// and how many were written before the retention began.
func (e *Table) CleanLook(from int64, chunk int) *statement.Statement {
	s := e.db.Statement()
	s.Add("SELECT MAX(k.seq), COUNT(*), SUM(k.old), SUM(k.early) FROM (SELECT ", e.seq("o"),
		" AS seq, CASE WHEN o.state IN (", cleanStates,
		") AND o.published_at < ", e.syntax.Ago(s, e.cfg.Retention), " THEN 1 ELSE 0 END AS old")
	s.Add(", CASE WHEN o.created_at < ", e.syntax.Ago(s, e.cfg.Retention), " THEN 1 ELSE 0 END AS early FROM ",
		e.outbox.String(), " o WHERE ", e.seq("o"), " > ", s.Arg(from))
	return s.Add(" ORDER BY ", e.seq("o"), e.db.Limit(s.Arg(chunk), 0), ") k")
}

// CleanDelete is the statement that deletes what is out of retention after from, up to and including to.
func (e *Table) CleanDelete(prefix string, from, to int64) *statement.Statement {
	s := e.db.Statement()
	seq := e.syntax.Seq()
	return s.Add(prefix, "DELETE FROM ", e.outbox.String(), " WHERE ", seq, " > ", s.Arg(from), " AND ", seq, " <= ",
		s.Arg(to),
		" AND state IN (", cleanStates, ") AND published_at < ", e.syntax.Ago(s, e.cfg.Retention))
}
