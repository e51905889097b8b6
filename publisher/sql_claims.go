package publisher

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rows of the claims table beside the units of units.go: the fencing counter (its info is {"partitions":64}), which exists
// while paused, live members, and aggregates.
const (
	counterUnit     = "*"
	pauseUnit       = "pause"
	memberPrefix    = "i:"
	aggregatePrefix = "a:"
)

// Dead rows of members and aggregates are kept so long for people to see.
const deadRowsKept = time.Hour

type counterInfo struct {
	Partitions int `json:"partitions"`
}

// claimsTx is one transaction, or no more than one statement where the engine needs none.
func (t *sqlTable) claimsTx(ctx context.Context, what string, work func(context.Context, querier) error) error {
	if t.d.claimInTx() {
		return t.tx(ctx, what, work)
	}
	return t.do(ctx, what, work)
}

func (t *sqlTable) draw(ctx context.Context) (token uint64, err error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return 0, err
	}
	err = t.claimsTx(ctx, "draw a fencing token", func(ctx context.Context, q querier) error {
		token, err = t.d.draw(ctx, q, t, c.name)
		return err
	})
	return token, err
}

func (t *sqlTable) join(ctx context.Context, owner string, ttl time.Duration) error {
	c, err := t.catalog(ctx)
	if err != nil {
		return err
	}
	return t.do(ctx, "join the outbox", func(ctx context.Context, q querier) error {
		return t.joinAs(ctx, q, c, owner, ttl)
	})
}

func (t *sqlTable) joinAs(ctx context.Context, q querier, c *catalog, owner string, ttl time.Duration) error {
	s := t.statement()
	t.d.put(s, t, c.name, memberPrefix+owner, owner, 0, ttl.Milliseconds(), "")
	_, err := s.exec(ctx, q)
	return err
}

// renew extends only what has not expired: what has may be another's by now, or belong to a partition count that is not in
// force any more.
func (t *sqlTable) renew(ctx context.Context, owner string, ttl time.Duration) (int, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return 0, err
	}
	var held int64
	err = t.do(ctx, "renew the claims", func(ctx context.Context, q querier) error {
		s := t.statement()
		s.add("UPDATE ", t.claims.String(), " SET expires_at = ", t.d.later(s.arg(ttl.Milliseconds())))
		t.heldBy(s, c.name, owner)
		if held, err = s.exec(ctx, q); err != nil {
			return err
		}
		return t.joinAs(ctx, q, c, owner, ttl)
	})
	return int(held), err
}

// heldBy adds the condition, with its WHERE, that a claim of a unit is the owner's and live.
func (t *sqlTable) heldBy(s *statement, outbox, owner string) {
	s.add(" WHERE outbox = ", s.arg(outbox), " AND owner = ", s.arg(owner), " AND unit NOT LIKE 'i:%' AND expires_at > ", t.d.now())
}

// guard adds the condition that the owner holds at least so many live claims. The engine evaluates it once for a statement.
func (t *sqlTable) guard(s *statement, outbox, owner string, held int) {
	s.add("(SELECT COUNT(*) FROM ", t.claims.String())
	t.heldBy(s, outbox, owner)
	s.add(") >= ", s.arg(held))
}

// lockClaims keeps the owner's claims from being taken over until the transaction ends, or returns errLost.
func (t *sqlTable) lockClaims(ctx context.Context, q querier, outbox, owner string, held int) error {
	hint, suffix := t.d.lock(false)
	s := t.statement()
	s.add("SELECT unit FROM ", t.claims.String(), hint)
	t.heldBy(s, outbox, owner)
	s.add(" ORDER BY unit", suffix)
	units, err := s.units(ctx, q)
	if err != nil {
		return fmt.Errorf("lock the claims: %w", err)
	}
	if len(units) < held {
		return fmt.Errorf("%w: %d of %d are left", errLost, len(units), held)
	}
	return nil
}

// checkClaims is lockClaims without a lock, to tell why a guarded statement changed nothing.
func (t *sqlTable) checkClaims(ctx context.Context, q querier, outbox, owner string, held int) error {
	s := t.statement()
	s.add("SELECT COUNT(*) FROM ", t.claims.String())
	t.heldBy(s, outbox, owner)
	var have int
	if err := s.row(ctx, q, &have); err != nil {
		return fmt.Errorf("count the claims: %w", err)
	}
	if have < held {
		return fmt.Errorf("%w: %d of %d are left", errLost, have, held)
	}
	return nil
}

func (t *sqlTable) take(ctx context.Context, owner string, token uint64, units []string, ttl time.Duration) (got []string, err error) {
	if len(units) == 0 {
		return nil, nil
	}
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]unitInfo, len(units))
	for i, u := range units {
		list[i] = unitInfo{unit: u}
	}
	err = t.claimsTx(ctx, "claim units", func(ctx context.Context, q querier) error {
		got, err = t.d.take(ctx, q, t, c.name, claim{owner, token, ttl}, list)
		return err
	})
	slices.Sort(got)
	return got, err
}

// release is one transaction, so that an event is never PENDING while its aggregate is still claimed for longer than that, nor
// PUBLISHING under no claim. A crash before it: others wait until the claims have expired.
func (t *sqlTable) release(ctx context.Context, owner string, units []string) error {
	if units != nil && len(units) == 0 {
		return nil
	}
	c, err := t.catalog(ctx)
	if err != nil {
		return err
	}
	return t.tx(ctx, "give claims back", func(ctx context.Context, q querier) error {
		if t.cfg.Strategy == SkipLocked {
			if err := c.events.restore(ctx, q, owner, units); err != nil {
				return err
			}
		}
		if err := t.dropClaims(ctx, q, c.name, owner, units); err != nil {
			return err
		}
		// What stays says who had it last. Its end lies in the past by the database's clock: that of the statement.
		s := t.statement()
		s.add("UPDATE ", t.claims.String(), " SET owner = '', expires_at = ", t.d.earlier("1"), " WHERE outbox = ", s.arg(c.name), " AND owner = ", s.arg(owner))
		t.among(s, units)
		_, err := s.exec(ctx, q)
		return err
	})
}

// dropClaims deletes the rows of aggregates, and the member's own where everything is given up.
func (t *sqlTable) dropClaims(ctx context.Context, q querier, outbox, owner string, units []string) error {
	s := t.statement()
	s.add("DELETE FROM ", t.claims.String(), " WHERE outbox = ", s.arg(outbox), " AND owner = ", s.arg(owner), " AND (unit LIKE 'a:%'")
	if units == nil {
		s.add(" OR unit LIKE 'i:%'")
	}
	s.add(")")
	t.among(s, units)
	_, err := s.exec(ctx, q)
	return err
}

func (t *sqlTable) among(s *statement, units []string) {
	if units != nil {
		s.add(" AND ", t.d.anyText(s, "unit", units))
	}
}

// survey locks the counter's row first, so that surveys come one after the other: an owner that has joined is seen by every
// survey after its own, and no survey changes the partition count between another's look and its takes.
func (t *sqlTable) survey(ctx context.Context, owner string, want int) (result survey, err error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return survey{}, err
	}
	err = t.tx(ctx, "survey the claims", func(ctx context.Context, q querier) error {
		stored, err := t.lockCounter(ctx, q, c.name)
		if err != nil {
			return err
		}
		if result, err = t.claimed(ctx, q, c.name); err != nil {
			return err
		}
		result.partitions = stored
		alone := len(result.members) == 0 || len(result.members) == 1 && result.members[0] == owner
		if want <= 0 || want == stored || stored > 0 && (len(result.held) > 0 || !alone) {
			return nil
		}
		result.partitions = want
		return t.storePartitions(ctx, q, c.name, want)
	})
	return result, err
}

// lockCounter reads the partition count in force, 0 for none yet, and locks its row, which it makes where there is none.
func (t *sqlTable) lockCounter(ctx context.Context, q querier, outbox string) (int, error) {
	hint, suffix := t.d.lock(false)
	s := t.statement()
	s.add("SELECT info FROM ", t.claims.String(), hint, " WHERE outbox = ", s.arg(outbox), " AND unit = '*'", suffix)
	var info sql.NullString
	err := s.row(ctx, q, &info)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err = t.d.draw(ctx, q, t, outbox); err == nil {
			err = s.row(ctx, q, &info)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("read the partition count: %w", err)
	}
	return partitionsOf(info.String), nil
}

func partitionsOf(info string) int {
	var c counterInfo
	if json.Unmarshal([]byte(info), &c) != nil || c.Partitions < 1 || c.Partitions > Buckets {
		return 0 // somebody's own text: as if there were none
	}
	return c.Partitions
}

func (t *sqlTable) storePartitions(ctx context.Context, q querier, outbox string, n int) error {
	info, err := json.Marshal(counterInfo{n})
	if err != nil {
		return err
	}
	s := t.statement()
	s.add("UPDATE ", t.claims.String(), " SET info = ", s.arg(string(info)), " WHERE outbox = ", s.arg(outbox), " AND unit = '*'")
	_, err = s.exec(ctx, q)
	return err
}

// claimed reads live partitions and members.
func (t *sqlTable) claimed(ctx context.Context, q querier, outbox string) (survey, error) {
	result := survey{held: map[int]string{}}
	s := t.statement()
	s.add("SELECT unit, owner FROM ", t.claims.String(), " WHERE outbox = ", s.arg(outbox), " AND unit NOT LIKE 'a:%' AND expires_at > ", t.d.now())
	err := s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		var unit, owner string
		if err := scan(&unit, &owner); err != nil {
			return false, err
		}
		if p, ok := partitionOf(unit); ok {
			result.held[p] = owner
		} else if member, ok := strings.CutPrefix(unit, memberPrefix); ok {
			result.members = append(result.members, member)
		}
		return true, nil
	})
	slices.Sort(result.members)
	return result, err
}

// pause stops publishing; info says who, when and why. resume is its end.
func (t *sqlTable) pause(ctx context.Context, by string) error {
	c, err := t.catalog(ctx)
	if err != nil {
		return err
	}
	return t.do(ctx, "pause the outbox", func(ctx context.Context, q querier) error {
		s := t.statement()
		t.d.put(s, t, c.name, pauseUnit, "", 0, 0, cut(by, 1000))
		_, err := s.exec(ctx, q)
		return err
	})
}

func (t *sqlTable) resume(ctx context.Context) error {
	c, err := t.catalog(ctx)
	if err != nil {
		return err
	}
	return t.do(ctx, "resume the outbox", func(ctx context.Context, q querier) error {
		s := t.statement()
		s.add("DELETE FROM ", t.claims.String(), " WHERE outbox = ", s.arg(c.name), " AND unit = 'pause'")
		_, err := s.exec(ctx, q)
		return err
	})
}
