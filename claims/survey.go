package claims

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Survey is what the claims table says.
type Survey struct {
	Force
	Leader  string         // the owner of the leader's live claim
	Members []string       // live and sorted; the caller is among them if it has joined
	Held    map[int]string // partition → owner, of live claims
}

// Force is what is in force for all instances. The zero value means nothing yet.
type Force struct {
	Strategy   Strategy `json:"strategy,omitempty"`
	Partitions int      `json:"partitions,omitempty"`
}

// Survey returns the claims of the leader and of partitions, the live members, and what is in force, by the database's
// clock. want is what the settings say (Partitions 0: the strategy has none). It comes into force if no claim of any
// kind and no member but the owner is live. Strategies do not see each other's claims: two of them at once would
// publish the same events. An owner joins first, then surveys, then takes or picks: otherwise another could change in
// between what is in force.
//
// It locks the counter's row first, so that surveys come one after the other. Every later survey sees an owner that has
// joined, and none changes the strategy or the number of partitions between another's survey and its takes.
func (t *Table) Survey(ctx context.Context, owner string, want Force) (result Survey, err error) {
	err = t.db.Tx(ctx, "survey the claims", func(ctx context.Context, q statement.Querier) error {
		stored, err := t.lockCounter(ctx, q)
		if err != nil {
			return err
		}
		var next Force
		judge := func() (err error) {
			if result, err = t.holders(ctx, q); err != nil {
				return err
			}
			next, err = t.nextInForce(ctx, q, &result, owner, stored, want)
			result.Force = next
			return err
		}
		skipLockedEnds := func() bool { return stored.Strategy == SkipLocked && next.Strategy != SkipLocked }
		if err := judge(); err != nil {
			return err
		}
		if skipLockedEnds() {
			if err := t.dropLapsed(ctx, q); err != nil {
				return err
			}
			if err := judge(); err != nil { // a pick that was waited for may have left claims that live
				return err
			}
		}
		if skipLockedEnds() && t.rows != nil {
			// No claim is live: the instances that left rows marked have died. The other strategies do not read such rows,
			// and would publish later ones first.
			if err := t.rows.Free(ctx, q); err != nil {
				return err
			}
		}
		if next == stored {
			return nil
		}
		return t.storeInForce(ctx, q, next)
	})
	return result, err
}

// dropLapsed deletes the rows of all members that are not live, before another strategy comes into force. Their picks
// under way have locked these rows: it waits for them, and every later statement sees what they have committed. A later
// pick finds that its owner is no member, even if its statement began before the membership ended. (A lock alone would
// not do: a statement that waits for a lock goes on with the time at which it began.)
//
// It misses no row: an owner that joins meanwhile surveys before it picks, and so waits for the counter.
func (t *Table) dropLapsed(ctx context.Context, q statement.Querier) error {
	s := t.db.Statement("SELECT unit FROM ", t.Place.Table)
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit LIKE 'i:%' AND expires_at <= ", t.db.Now())
	names, err := s.Texts(ctx, q)
	if err != nil || len(names) == 0 {
		return err
	}
	s = t.db.Statement()
	t.syntax.ByName(s, t.Place, "DELETE", nil, names)
	s.Add(" AND c.expires_at <= ", t.db.Now())
	if _, err = s.Exec(ctx, q); err != nil {
		return fmt.Errorf("remove lapsed members: %w", err)
	}
	return nil
}

// nextInForce is what is in force from now on: what is wanted, if no other member is live and nothing is claimed. It
// asks for claims, too: a claim that was taken after its owner's last renewal outlives the membership.
func (t *Table) nextInForce(ctx context.Context, q statement.Querier, found *Survey, owner string, stored,
	want Force) (Force, error) {
	if want.Partitions <= 0 {
		want.Partitions = stored.Partitions // for when the strategy changes back
	}
	if want == stored {
		return stored, nil
	}
	next := stored
	if stored.Strategy == "" {
		next.Strategy = want.Strategy
	}
	if stored.Partitions == 0 {
		next.Partitions = want.Partitions
	}
	alone := len(found.Members) == 0 || len(found.Members) == 1 && found.Members[0] == owner
	if !alone || next == want {
		return next, nil
	}
	s := t.db.Statement("SELECT COUNT(*) FROM ", t.Place.Table)
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox),
		" AND unit NOT LIKE 'i:%' AND unit NOT IN ('*', 'pause') AND expires_at > ", t.db.Now())
	var live int
	if err := s.Row(ctx, q, &live); err != nil {
		return stored, fmt.Errorf("count live claims: %w", err)
	}
	if live > 0 {
		return next, nil
	}
	return want, nil
}

// lockCounter reads what is in force, and locks the counter's row. It makes the row if there is none.
func (t *Table) lockCounter(ctx context.Context, q statement.Querier) (Force, error) {
	hint, suffix := t.db.Lock(false)
	s := t.db.Statement("SELECT info FROM ", t.Place.Table, hint)
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '*'", suffix)
	var info sql.NullString
	err := s.Row(ctx, q, &info)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err = t.DrawIn(ctx, q); err == nil {
			err = s.Row(ctx, q, &info)
		}
	}
	if err != nil {
		return Force{}, fmt.Errorf("read what is in force: %w", err)
	}
	return InForce(info.String), nil
}

// Counter adds a subquery for the counter's info, which InForce reads.
func (t *Table) Counter(s *statement.Statement) {
	s.Add("(SELECT n.info FROM ", t.Place.Table, " n WHERE n.outbox = ", s.Arg(t.Place.Outbox), " AND n.unit = '*')")
}

// InForce reads the counter's info. It returns the zero value for an info that no survey wrote.
func InForce(info string) Force {
	var c Force
	if json.Unmarshal([]byte(info), &c) != nil || c.Partitions < 0 || c.Partitions > Buckets {
		return Force{} // somebody's own text: as if there were none
	}
	return c
}

func (t *Table) storeInForce(ctx context.Context, q statement.Querier, c Force) error {
	info, err := json.Marshal(c)
	if err != nil {
		return err
	}
	s := t.db.Statement("UPDATE ", t.Place.Table, " SET info = ")
	s.Add(s.Arg(string(info)), " WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '*'")
	_, err = s.Exec(ctx, q)
	return err
}

// holders reads who leads, who holds which partitions, and who is a live member.
func (t *Table) holders(ctx context.Context, q statement.Querier) (Survey, error) {
	result := Survey{Held: map[int]string{}}
	s := t.db.Statement("SELECT unit, owner FROM ", t.Place.Table)
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit NOT LIKE 'a:%' AND expires_at > ", t.db.Now())
	err := s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var name, owner string
		if err := scan(&name, &owner); err != nil {
			return false, err
		}
		if p, ok := PartitionOf(name); ok {
			result.Held[p] = owner
		} else if name == LeaderShard {
			result.Leader = owner
		} else if member, ok := strings.CutPrefix(name, memberPrefix); ok {
			result.Members = append(result.Members, member)
		}
		return true, nil
	})
	slices.Sort(result.Members)
	return result, err
}
