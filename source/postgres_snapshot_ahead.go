package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/poller"
)

// ahead reads one row whose transaction the server has not come to. A row that is visible was committed, by a transaction
// below the snapshot's end: one that says otherwise was written with another server's number.
func (s *selection) ahead() statement {
	b := newBuilder(s.syntax)
	b.add("SELECT " + s.column(s.order[0]) + "::text, pg_snapshot_xmax(pg_current_snapshot())::text")
	b.from(s)
	b.conditions(s, span{also: []condition{func(b *builder, s *selection) {
		b.add(s.column(s.order[0]) + " >= pg_snapshot_xmax(pg_current_snapshot())")
	}}})
	b.limit(1)
	return b.statement()
}

// findAhead finds rows that no window would hold before the server has come to their numbers, which may take years: after
// a dump and restore into a younger cluster. The range is the index's end.
func (c *Cursor) findAhead(ctx context.Context, s *session, p *plan) (verdict, err error) {
	var xid, now string
	switch err := s.conn.QueryRowContext(ctx, p.sel.ahead().text).Scan(&xid, &now); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for rows that are ahead of the server: %w", err)
	}
	mend := "where the rows come from, write them again"
	if from := p.table.From; from != "" {
		column := p.syntax.Quote(p.sel.order[0].Name)
		key := p.syntax.Quote(p.sel.columns[p.key[0]].Name)
		mend = fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s >= pg_snapshot_xmax(pg_current_snapshot())", from, key, key, column)
	}
	return fmt.Errorf("%w: %s: a row carries transaction %s, and the server has come to %s only: it was restored from another server's dump, "+
		"and would not be delivered before the server has come that far. Give these rows numbers of this server (with the trigger that sets them): %s",
		poller.ErrGap, c.name(), xid, now, mend), nil
}
