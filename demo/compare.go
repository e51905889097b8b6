package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Comparison is what the shop holds against what the receiver holds.
type Comparison struct {
	// Written is the last version of the shop up to the bound: so many writes there were.
	Written int64
	// Received is how many different ones the receiver holds.
	Received int64
	// Overtaken is how many versions were overwritten by a later one of their order before the relay read the row: a
	// cursor shows the latest state of a row (docs/duplicates.md).
	Overtaken int64
	// Missing is how many orders the receiver does not hold in their present version. A clean end leaves none.
	Missing int64
	// First are the first missing orders, at most five.
	First []Order
}

// Compare reads both tables once, in the order of versions up to the bound, and holds nothing in memory. Beyond the
// bound, which is where the checkpoint stands, others may still be writing and relaying.
func Compare(ctx context.Context, s *Shop, r *Receiver, bound int64) (c Comparison, err error) {
	ours, err := s.db.QueryContext(ctx, s.sql.list, bound)
	if err != nil {
		return c, fmt.Errorf("list the shop's orders: %w", err)
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	theirs, err := r.db.QueryContext(ctx, "SELECT version, id FROM received WHERE version <= ? ORDER BY version", bound)
	if err != nil {
		return c, fmt.Errorf("list the received orders: %w", err)
	}
	defer func() { err = errors.Join(err, theirs.Close()) }()

	have, ok, err := next(theirs)
	for err == nil {
		var want Order
		var more bool
		if want, more, err = next(ours); err != nil || !more {
			break
		}
		c.Written = want.Version
		for err == nil && ok && have.Version < want.Version {
			c.Received++
			have, ok, err = next(theirs)
		}
		if err == nil && (!ok || have != want) {
			c.Missing++
			if len(c.First) < 5 {
				c.First = append(c.First, want)
			}
		}
	}
	for err == nil && ok {
		c.Received++
		_, ok, err = next(theirs)
	}
	if err != nil {
		return c, fmt.Errorf("compare the shop with the receiver: %w", err)
	}
	c.Overtaken = max(0, c.Written-c.Received-c.Missing)
	return c, nil
}

func next(rows *sql.Rows) (o Order, ok bool, err error) {
	if !rows.Next() {
		return o, false, rows.Err()
	}
	return o, true, rows.Scan(&o.Version, &o.ID)
}
