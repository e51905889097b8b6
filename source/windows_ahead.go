package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/snapshot"
)

// findAhead finds rows that no window would hold before the server has come to their numbers, which may take years: after
// a dump and restore into a younger cluster. The range is the index's end.
func (c *Cursor) findAhead(ctx context.Context, s *session, p *plan.Plan) (verdict, err error) {
	var xid, now string
	switch err := s.conn.QueryRowContext(ctx, snapshot.Ahead(&p.Sel).Text).Scan(&xid, &now); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for rows that are ahead of the server: %w", err)
	}
	mend := "where the rows come from, write them again"
	if from := p.Table.From; from != "" {
		column := p.Syntax.Quote(p.Sel.Order[0].Name)
		key := p.Syntax.Quote(p.Sel.Columns[p.Key[0]].Name)
		mend = fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s >= pg_snapshot_xmax(pg_current_snapshot())", from, key, key, column)
	}
	return fmt.Errorf("%w: %s: a row carries transaction %s, and the server has come to %s only: it was restored from another server's dump, "+
		"and would not be delivered before the server has come that far. Give these rows numbers of this server (with the trigger that sets them): %s",
		poller.ErrGap, c.name(), xid, now, mend), nil
}
