package claims

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Rows are the rows that are published under claims, if they are marked while they are published.
type Rows interface {
	// Restore unmarks the rows under the owner's claims of shards (nil: all), in the transaction that gives these up.
	Restore(ctx context.Context, q statement.Querier, owner string, names []string) error
	// Free unmarks all rows, in a transaction in which no claim is live.
	Free(ctx context.Context, q statement.Querier) error
}

// claimsTx runs work in one transaction, or as a single statement if the engine needs no transaction.
func (t *Table) claimsTx(ctx context.Context, what string, work func(context.Context, statement.Querier) error) error {
	if t.syntax.InTx() {
		return t.db.Tx(ctx, what, work)
	}
	return t.db.Do(ctx, what, work)
}

// Draw returns a token larger than every token drawn before for this outbox.
func (t *Table) Draw(ctx context.Context) (token uint64, err error) {
	err = t.claimsTx(ctx, "draw a fencing token", func(ctx context.Context, q statement.Querier) error {
		token, err = t.DrawIn(ctx, q)
		return err
	})
	return token, err
}

// Take claims shards that are free or expired, and returns those that it got. They include those that the owner holds
// under this token: a token is drawn for each call, and the answer to a first attempt may have been lost.
func (t *Table) Take(ctx context.Context, owner string, token uint64, names []string,
	ttl time.Duration) (got []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	err = t.claimsTx(ctx, "claim shards", func(ctx context.Context, q statement.Querier) error {
		got, err = t.TakeIn(ctx, q, Claim{owner, token, ttl}, Named(names), "")
		return err
	})
	slices.Sort(got)
	return got, err
}

// TakeFor claims shards for a live member only, in the caller's transaction. It returns those that it got, or ErrLost.
func (t *Table) TakeFor(ctx context.Context, q statement.Querier, c Claim, shards []Shard) (got []string, err error) {
	member := memberPrefix + c.Owner
	if got, err = t.TakeIn(ctx, q, c, shards, member); err != nil {
		return nil, fmt.Errorf("claim aggregates: %w", err)
	}
	i := slices.Index(got, member)
	if i < 0 {
		return nil, errNoMember
	}
	return slices.Delete(got, i, i+1), nil
}

// live adds the condition, with its WHERE, that a claim of a shard is the owner's and live.
func (t *Table) live(s *statement.Statement, owner string) {
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND owner = ", s.Arg(owner),
		" AND unit NOT LIKE 'i:%' AND expires_at > ", t.db.Now())
}

// Guard adds the condition that the owner holds at least so many live claims. The engine evaluates it once in a
// statement.
func (t *Table) Guard(s *statement.Statement, owner string, held int) {
	s.Add("(SELECT COUNT(*) FROM ", t.Place.Table)
	t.live(s, owner)
	s.Add(") >= ", s.Arg(held))
}

// Claimed adds the condition that a shard has a live claim. name is an SQL expression.
func (t *Table) Claimed(s *statement.Statement, name string) {
	s.Add("EXISTS (SELECT 1 FROM ", t.Place.Table, " c WHERE c.outbox = ", s.Arg(t.Place.Outbox), " AND c.unit = ",
		name, " AND c.expires_at > ", t.db.Now(), ")")
}

// Hold locks the owner's claims until the transaction ends, so that nobody takes them over. It returns their shards, or
// ErrLost. It finds them without a lock first: see ByName.
func (t *Table) Hold(ctx context.Context, q statement.Querier, owner string, least int) ([]string, error) {
	s := t.db.Statement("SELECT unit FROM ", t.Place.Table)
	t.live(s, owner)
	names, err := s.Texts(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("find the claims: %w", err)
	}
	if len(names) > 0 {
		if names, err = t.LockShards(ctx, q, owner, names, " AND c.expires_at > "+t.db.Now()); err != nil {
			return nil, err
		}
	}
	if len(names) < least {
		return nil, fmt.Errorf("%w: %d of %d are left", ErrLost, len(names), least)
	}
	return names, nil
}

// Check is Hold without a lock. It says why a guarded statement changed nothing.
func (t *Table) Check(ctx context.Context, q statement.Querier, owner string, least int) error {
	s := t.db.Statement("SELECT COUNT(*) FROM ", t.Place.Table)
	t.live(s, owner)
	var have int
	if err := s.Row(ctx, q, &have); err != nil {
		return fmt.Errorf("count the claims: %w", err)
	}
	if have < least {
		return fmt.Errorf("%w: %d of %d are left", ErrLost, have, least)
	}
	return nil
}

// LockShards locks those of shards that are the owner's, in the order of their names, and returns them.
func (t *Table) LockShards(ctx context.Context, q statement.Querier, owner string, names []string,
	also string) ([]string, error) {
	_, suffix := t.db.Lock(false)
	s := t.db.Statement()
	t.syntax.ByName(s, t.Place, "SELECT", nil, names)
	s.Add(" AND c.owner = ", s.Arg(owner), also, " ORDER BY c.unit", suffix)
	names, err := s.Texts(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("lock the claims: %w", err)
	}
	return names, nil
}

// Renew extends the membership and all claims of the owner by ttl. It returns how many claims the owner holds, without
// the membership. A membership that has lapsed is not renewed: that is ErrLost.
//
// An expired claim is not extended: it may be another's by now, or belong to a strategy or partition count that is no
// longer in force. The member's row comes last, in a statement of its own, because a pick under way locks it.
func (t *Table) Renew(ctx context.Context, owner string, ttl time.Duration) (int, error) {
	var held []string
	extend := func(s *statement.Statement, names []string) {
		t.syntax.ByName(s, t.Place, "UPDATE", func() string {
			return "expires_at = " + t.db.Later(s.Arg(ttl.Milliseconds()))
		}, names)
		s.Add(" AND c.owner = ", s.Arg(owner))
	}
	err := t.db.Tx(ctx, "renew the claims", func(ctx context.Context, q statement.Querier) (err error) {
		if held, err = t.Hold(ctx, q, owner, 0); err != nil || len(held) == 0 {
			return err
		}
		s := t.db.Statement()
		extend(s, held)
		_, err = s.Exec(ctx, q)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(held), t.db.Do(ctx, "renew the membership", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement()
		extend(s, []string{memberPrefix + owner})
		s.Add(" AND c.expires_at > ", t.db.Now())
		if n, err := s.Exec(ctx, q); err != nil || n > 0 {
			return err
		}
		return errNoMember
	})
}

// Release gives shards back; nil means all of them and the membership. Rows that are marked under them are unmarked.
//
// It is one transaction: a row is never unmarked while its shard stays claimed, nor marked under no claim. After a
// crash before it, others wait until the claims have expired. They also wait if a pick, whose answer was lost, commits
// while Release waits for the member's row: then the rows are unmarked, and the claims are not found.
func (t *Table) Release(ctx context.Context, owner string, names []string) error {
	if names != nil && len(names) == 0 {
		return nil
	}
	return t.db.Tx(ctx, "give claims back", func(ctx context.Context, q statement.Querier) error {
		mine, err := t.namesOf(ctx, q, owner, names)
		if err != nil || len(mine) == 0 {
			return err
		}
		if mine, err = t.LockShards(ctx, q, owner, mine, ""); err != nil {
			return err
		}
		if t.strategy == SkipLocked && t.rows != nil {
			if err := t.rows.Restore(ctx, q, owner, names); err != nil {
				return err
			}
		}
		if err := t.Drop(ctx, q, owner, mine); err != nil {
			return err
		}
		kept := slices.DeleteFunc(mine, temporary)
		if len(kept) == 0 {
			return nil
		}
		// These rows keep their tokens. Their claims end in the past, by the time of the statement.
		s := t.db.Statement()
		t.syntax.ByName(s, t.Place, "UPDATE", func() string { return "owner = '', expires_at = " + t.db.Earlier("1") }, kept)
		s.Add(" AND c.owner = ", s.Arg(owner))
		_, err = s.Exec(ctx, q)
		return err
	})
}

// namesOf returns names, or those of all rows of an owner: the membership and expired claims, too.
func (t *Table) namesOf(ctx context.Context, q statement.Querier, owner string, names []string) ([]string, error) {
	if names != nil {
		return names, nil
	}
	s := t.db.Statement("SELECT unit FROM ", t.Place.Table)
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND owner = ", s.Arg(owner))
	names, err := s.Texts(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("find the claims: %w", err)
	}
	return names, nil
}

// temporary reports whether the row of a shard is deleted when its claim ends.
func temporary(name string) bool {
	return strings.HasPrefix(name, AggregatePrefix) || strings.HasPrefix(name, memberPrefix)
}

// Drop deletes the rows of those shards that are temporary.
func (t *Table) Drop(ctx context.Context, q statement.Querier, owner string, names []string) error {
	var gone []string
	for _, name := range names {
		if temporary(name) {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	s := t.db.Statement()
	t.syntax.ByName(s, t.Place, "DELETE", nil, gone)
	s.Add(" AND c.owner = ", s.Arg(owner))
	_, err := s.Exec(ctx, q)
	return err
}

const (
	// deadRowsKept is how long dead rows of members and aggregates are kept for people to see.
	deadRowsKept = time.Hour
	// dropAtOnce bounds how many rows one statement deletes: SQL Server turns 5000 row locks into one lock of the table.
	dropAtOnce = 4_000
)

// DropOld deletes rows of members and aggregates whose claims ended long ago, some thousands at a time.
func (t *Table) DropOld(ctx context.Context) error {
	return t.db.Do(ctx, "remove old claims", func(ctx context.Context, q statement.Querier) error {
		age := deadRowsKept.Milliseconds()
		s := t.db.Statement("SELECT unit FROM ", t.Place.Table)
		s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox),
			" AND (unit LIKE 'i:%' OR unit LIKE 'a:%') AND expires_at <= ", t.db.Earlier(s.Arg(age)),
			" ORDER BY unit", t.db.Limit(s.Arg(dropAtOnce), 0))
		names, err := s.Texts(ctx, q)
		if err != nil || len(names) == 0 {
			return err
		}
		s = t.db.Statement()
		t.syntax.ByName(s, t.Place, "DELETE", nil, names)
		s.Add(" AND c.expires_at <= ", t.db.Earlier(s.Arg(age)))
		_, err = s.Exec(ctx, q)
		return err
	})
}
