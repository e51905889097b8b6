package publisher

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/rowrelay/rowrelay/engine/statement"
	"slices"
	"strings"
)

// survey is what the claims table says.
type survey struct {
	force
	leader  string         // the owner of the leader's live claim
	members []string       // live, the asking one included where it has joined; sorted
	held    map[int]string // partition → owner, of live claims
}

// force is what is in force for all instances; the zero value: nothing yet.
type force struct {
	Strategy   Strategy `json:"strategy,omitempty"`
	Partitions int      `json:"partitions,omitempty"`
}

// survey returns the claims of the leader and of partitions, and the live members, by the database's clock. want is what the
// settings say (Partitions 0: the strategy has none). It is stored where no claim of any kind and no member but the owner is live,
// and what is in force is returned: strategies do not see each other's claims, so that two of them at once would publish the same
// events. An owner joins before it surveys, and takes or picks only by a survey made after that: otherwise another could change what
// is in force in between.
//
// It locks the counter's row first, so that surveys come one after the other: an owner that has joined is seen by every
// survey after its own, and no survey changes strategy or partition count between another's look and its takes.
func (t *claimsTable) survey(ctx context.Context, owner string, want force) (result survey, err error) {
	err = t.db.Tx(ctx, "survey the claims", func(ctx context.Context, q statement.Querier) error {
		stored, err := t.lockCounter(ctx, q)
		if err != nil {
			return err
		}
		var next force
		judge := func() (err error) {
			if result, err = t.who(ctx, q); err != nil {
				return err
			}
			next, err = t.nextInForce(ctx, q, &result, owner, stored, want)
			result.force = next
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
			// No claim is live, so that whoever left rows marked has died. The other strategies do not look for them before they
			// publish what comes after.
			if err := t.rows.free(ctx, q); err != nil {
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

// dropLapsed deletes the rows of all members that are not live, before another strategy comes into force. It waits for picks of theirs
// that are under way, which have locked them; what those have committed is seen by every later statement. A pick that comes later
// finds that its owner is no member, be its clock before the membership's end. (A lock without a change would not do: a statement
// that waits for it goes on with the time at which it began.)
//
// There is no row that it misses: whoever joins meanwhile surveys before it picks, and so waits for the counter.
func (t *claimsTable) dropLapsed(ctx context.Context, q statement.Querier) error {
	s := t.db.Statement("SELECT unit FROM ", t.place.table)
	s.Add(" WHERE outbox = ", s.Arg(t.place.outbox), " AND unit LIKE 'i:%' AND expires_at <= ", t.db.Now())
	names, err := s.Texts(ctx, q)
	if err != nil || len(names) == 0 {
		return err
	}
	s = t.db.Statement()
	t.syntax.byName(s, t.place, "DELETE", nil, names)
	s.Add(" AND c.expires_at <= ", t.db.Now())
	if _, err = s.Exec(ctx, q); err != nil {
		return fmt.Errorf("remove lapsed members: %w", err)
	}
	return nil
}

// nextInForce is what is in force from now on: what is wanted, where nobody else lives and nothing is claimed. Claims are asked for
// beside members, because one that was taken after its owner's last renewal lives longer than that owner's row.
func (t *claimsTable) nextInForce(ctx context.Context, q statement.Querier, found *survey, owner string, stored, want force) (force, error) {
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
	alone := len(found.members) == 0 || len(found.members) == 1 && found.members[0] == owner
	if !alone || next == want {
		return next, nil
	}
	s := t.db.Statement("SELECT COUNT(*) FROM ", t.place.table)
	s.Add(" WHERE outbox = ", s.Arg(t.place.outbox), " AND unit NOT LIKE 'i:%' AND unit NOT IN ('*', 'pause') AND expires_at > ", t.db.Now())
	var live int
	if err := s.Row(ctx, q, &live); err != nil {
		return stored, fmt.Errorf("count live claims: %w", err)
	}
	if live > 0 {
		return next, nil
	}
	return want, nil
}

// lockCounter reads what is in force, and locks its row, which it makes where there is none.
func (t *claimsTable) lockCounter(ctx context.Context, q statement.Querier) (force, error) {
	hint, suffix := t.db.Lock(false)
	s := t.db.Statement("SELECT info FROM ", t.place.table, hint)
	s.Add(" WHERE outbox = ", s.Arg(t.place.outbox), " AND unit = '*'", suffix)
	var info sql.NullString
	err := s.Row(ctx, q, &info)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err = t.drawIn(ctx, q); err == nil {
			err = s.Row(ctx, q, &info)
		}
	}
	if err != nil {
		return force{}, fmt.Errorf("read what is in force: %w", err)
	}
	return inForce(info.String), nil
}

// counter adds a subquery for the counter's info, which inForce reads.
func (t *claimsTable) counter(s *statement.Statement) {
	s.Add("(SELECT n.info FROM ", t.place.table, " n WHERE n.outbox = ", s.Arg(t.place.outbox), " AND n.unit = '*')")
}

func inForce(info string) force {
	var c force
	if json.Unmarshal([]byte(info), &c) != nil || c.Partitions < 0 || c.Partitions > Buckets {
		return force{} // somebody's own text: as if there were none
	}
	return c
}

func (t *claimsTable) storeInForce(ctx context.Context, q statement.Querier, c force) error {
	info, err := json.Marshal(c)
	if err != nil {
		return err
	}
	s := t.db.Statement("UPDATE ", t.place.table, " SET info = ")
	s.Add(s.Arg(string(info)), " WHERE outbox = ", s.Arg(t.place.outbox), " AND unit = '*'")
	_, err = s.Exec(ctx, q)
	return err
}

// who reads who leads, who holds which partitions, and live members.
func (t *claimsTable) who(ctx context.Context, q statement.Querier) (survey, error) {
	result := survey{held: map[int]string{}}
	s := t.db.Statement("SELECT unit, owner FROM ", t.place.table)
	s.Add(" WHERE outbox = ", s.Arg(t.place.outbox), " AND unit NOT LIKE 'a:%' AND expires_at > ", t.db.Now())
	err := s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var name, owner string
		if err := scan(&name, &owner); err != nil {
			return false, err
		}
		if p, ok := partitionOf(name); ok {
			result.held[p] = owner
		} else if name == leaderShard {
			result.leader = owner
		} else if member, ok := strings.CutPrefix(name, memberPrefix); ok {
			result.members = append(result.members, member)
		}
		return true, nil
	})
	slices.Sort(result.members)
	return result, err
}
