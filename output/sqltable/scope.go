package sqltable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// lostState says that the guard knows a later token than the request's. Where that is so for every request, the state
// document was deleted or restored, and only a person can say what is right.
type lostState string

func (l lostState) Error() string { return string(l) }

// Unwrap says that only a person can mend it.
func (lostState) Unwrap() error { return change.ErrConfig }

// enter refuses a request whose token is below one that wrote any row, also where its own keys are new: if some keys
// were taken, the tick would hold the others' failure against their events. The guard has a row for the poller itself,
// with the highest token. It is looked at by the first request of a token.
func (o *Output) enter(ctx context.Context, q statement.Querier, d *change.Delivery) error {
	if o.entered.Load() == d.Token {
		return nil
	}
	id, guard, mine := o.guardID(""), o.guard.String(), int64(d.Token) //nolint:gosec // tokens count from 1
	st := statement.New(o.syntax).Add("SELECT token FROM ", guard, " WHERE id = ")
	stored, err := st.Add(st.Arg(id)).Ints(ctx, q)
	found := len(stored) > 0
	if err == nil && !found { // a new guard, or one that an earlier version made
		st := statement.New(o.syntax).Add("SELECT COALESCE(MAX(token), 0) FROM ", guard, " WHERE scope = ")
		stored, err = st.Add(st.Arg(o.scope)).Ints(ctx, q)
	}
	switch {
	case err != nil:
		return err
	case stored[0] > mine:
		return lostState(fmt.Sprintf("this process's fencing token is %d, and %d has written already: another process took its "+
			"lease, or the state document was deleted or restored. In the second case: DELETE FROM %s WHERE scope = '%s'",
			mine, stored[0], guard, strings.ReplaceAll(o.scope, "'", "''")))
	case found && stored[0] == mine:
		return nil
	case !found:
		_, err := o.upsert(statement.New(o.syntax), guard, guardKey, nil, func(st *statement.Statement) {
			st.Add("(").Add(st.Arg(id)).Add(", ").Add(st.Arg(o.scope), ", 0, 0, '')")
		}, slices.Concat(guardKey, guardColumns)).Exec(ctx, q)
		if err != nil {
			return err
		}
	}
	st = statement.New(o.syntax).Add("UPDATE ", guard, " SET token = ")
	st.Add(st.Arg(mine)).Add(" WHERE id = ").Add(st.Arg(id)).Add(" AND token < ")
	_, err = st.Add(st.Arg(mine)).Exec(ctx, q)
	return err
}
