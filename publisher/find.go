package publisher

import (
	"context"
	"errors"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// Found is what there is of an outbox before `rowrelay outbox init`.
type Found struct {
	// Exists says that there is the table (and that the user may see it), Own that it has the columns of `rowrelay
	// outbox init`.
	Exists, Own bool
	// Lacks are the statements that add what a table of an earlier version lacks: columns, and indexes without which
	// nothing is published. One frees the events that such a version has left in a state of its own.
	Lacks []string
}

// Find says what there is of an outbox, table being named as source__table. It changes nothing, and needs no table of
// claims.
func Find(ctx context.Context, conn engine.Connection, table string) (found Found, err error) {
	pool := conn.WriteDB(1)
	defer func() { err = errors.Join(err, pool.Close()) }()
	c, err := newCatalog(Config{Table: table, ClaimsTable: "rowrelay_claims"}, conn, pool)
	if err != nil {
		return found, err
	}
	qualified, err := c.texts.resolve(ctx, c.db.Pool, c.outbox)
	if err != nil || qualified == "" {
		return found, err
	}
	t, err := c.table(ctx)
	if err != nil {
		return found, err
	}
	found.Exists, found.Own = true, rows.IsOwn(c.texts.rows, names(&t))
	if found.Own {
		found.Lacks = rows.AddTimes(c.texts.rows, c.outbox, names(&t))
		lacks, _ := c.lacks(&t)
		if rows.Needs(c.texts.rows) { // elsewhere the statements of DDL add them
			found.Lacks = append(found.Lacks, statements(lacks)...)
		}
		left, err := c.publishing(ctx, &t)
		if err != nil {
			return found, err
		}
		if left {
			found.Lacks = append(found.Lacks, "UPDATE "+c.outbox.String()+" SET state = 'PENDING' WHERE "+isPublishing)
		}
	}
	return found, nil
}
