package publisher

import (
	"context"
	"errors"

	"github.com/rowrelay/rowrelay/engine"
)

// Found is what there is of an outbox before `rowrelay outbox init`.
type Found struct {
	// Exists says that there is the table (and that the user may see it), Own that it has the columns of `rowrelay outbox init`.
	Exists, Own bool
}

// Look says what there is of an outbox, table being named as source__table. It changes nothing, and needs no table of claims.
func Look(ctx context.Context, conn engine.Connection, table string) (found Found, err error) {
	t, err := newTable(Config{Table: table, ClaimsTable: "rowrelay_claims"}, conn)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	err = t.once(ctx, func(ctx context.Context, q querier) error {
		found = Found{}
		qualified, err := t.d.resolve(ctx, q, t.outbox.parts)
		if err != nil || qualified == "" {
			return err
		}
		columns, err := t.columns(ctx, q)
		if err != nil {
			return err
		}
		found = Found{Exists: true, Own: isOwn(t.d, columns)}
		return nil
	})
	return found, err
}
