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

// Rows of the claims table beside the units of units.go: the fencing counter (its info is what is in force:
// {"strategy":"partitioned","partitions":64}), which exists while paused, live members, and aggregates.
const (
	counterUnit     = "*"
	pauseUnit       = "pause"
	memberPrefix    = "i:"
	aggregatePrefix = "a:"
)

// Dead rows of members and aggregates are kept so long for people to see.
const deadRowsKept = time.Hour

// counterInfo is what is in force for all instances; the zero value: nothing yet.
type counterInfo struct {
	Strategy   Strategy `json:"strategy,omitempty"`
	Partitions int      `json:"partitions,omitempty"`
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
	var held []string
	err = t.tx(ctx, "renew the claims", func(ctx context.Context, q querier) (err error) {
		if held, err = t.lockClaims(ctx, q, c.name, owner, 0); err != nil || len(held) == 0 {
			return err
		}
		s := t.statement()
		t.d.byUnit(s, t, "UPDATE", func() string { return "expires_at = " + t.d.later(s.arg(ttl.Milliseconds())) }, c.name, held)
		s.add(" AND c.owner = ", s.arg(owner))
		_, err = s.exec(ctx, q)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(held), t.join(ctx, owner, ttl)
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

// lockClaims keeps the owner's claims from being taken over until the transaction ends, and returns their units, or errLost.
// It looks for them without a lock first: see byUnit.
func (t *sqlTable) lockClaims(ctx context.Context, q querier, outbox, owner string, held int) ([]string, error) {
	s := t.statement()
	s.add("SELECT unit FROM ", t.claims.String())
	t.heldBy(s, outbox, owner)
	units, err := s.units(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("find the claims: %w", err)
	}
	if len(units) > 0 {
		if units, err = t.lockUnits(ctx, q, outbox, owner, units, " AND c.expires_at > "+t.d.now()); err != nil {
			return nil, err
		}
	}
	if len(units) < held {
		return nil, fmt.Errorf("%w: %d of %d are left", errLost, len(units), held)
	}
	return units, nil
}

// lockUnits locks those of units that are the owner's, in the order of their names, and returns them.
func (t *sqlTable) lockUnits(ctx context.Context, q querier, outbox, owner string, units []string, also string) ([]string, error) {
	_, suffix := t.d.lock(false)
	s := t.statement()
	t.d.byUnit(s, t, "SELECT", nil, outbox, units)
	s.add(" AND c.owner = ", s.arg(owner), also, " ORDER BY c.unit", suffix)
	units, err := s.units(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("lock the claims: %w", err)
	}
	return units, nil
}

// byUnitList is byUnit for engines that lock what a statement finds, and not what it looks at.
func byUnitList(s *statement, t *sqlTable, verb string, set func() string, outbox string, units []string) {
	switch verb {
	case "SELECT":
		s.add("SELECT c.unit FROM ", t.claims.String(), " AS c")
	case "DELETE":
		s.add("DELETE FROM ", t.claims.String(), " AS c")
	default:
		s.add("UPDATE ", t.claims.String(), " AS c SET ", set())
	}
	s.add(" WHERE c.outbox = ", s.arg(outbox), " AND ", t.d.anyText(s, "c.unit", units))
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
	err = t.claimsTx(ctx, "claim units", func(ctx context.Context, q querier) error {
		got, err = t.d.take(ctx, q, t, c.name, claim{owner, token, ttl}, named(units))
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
		mine, err := t.unitsOf(ctx, q, c.name, owner, units)
		if err != nil || len(mine) == 0 {
			return err
		}
		if mine, err = t.lockUnits(ctx, q, c.name, owner, mine, ""); err != nil {
			return err
		}
		if t.cfg.Strategy == SkipLocked {
			if err := c.events.restore(ctx, q, owner, units); err != nil {
				return err
			}
		}
		if err := t.dropClaims(ctx, q, c.name, owner, mine); err != nil {
			return err
		}
		kept := slices.DeleteFunc(mine, passing)
		if len(kept) == 0 {
			return nil
		}
		// What stays has its token still. Its end lies in the past by the database's clock: that of the statement.
		s := t.statement()
		t.d.byUnit(s, t, "UPDATE", func() string { return "owner = '', expires_at = " + t.d.earlier("1") }, c.name, kept)
		s.add(" AND c.owner = ", s.arg(owner))
		_, err = s.exec(ctx, q)
		return err
	})
}

// unitsOf returns units, or all that an owner has, its member's row and what has expired included.
func (t *sqlTable) unitsOf(ctx context.Context, q querier, outbox, owner string, units []string) ([]string, error) {
	if units != nil {
		return units, nil
	}
	s := t.statement()
	s.add("SELECT unit FROM ", t.claims.String(), " WHERE outbox = ", s.arg(outbox), " AND owner = ", s.arg(owner))
	units, err := s.units(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("find the claims: %w", err)
	}
	return units, nil
}

// passing says that the row of a unit goes when its claim ends.
func passing(unit string) bool {
	return strings.HasPrefix(unit, aggregatePrefix) || strings.HasPrefix(unit, memberPrefix)
}

// dropClaims deletes the rows of those units that pass.
func (t *sqlTable) dropClaims(ctx context.Context, q querier, outbox, owner string, units []string) error {
	var passed []string
	for _, unit := range units {
		if passing(unit) {
			passed = append(passed, unit)
		}
	}
	if len(passed) == 0 {
		return nil
	}
	s := t.statement()
	t.d.byUnit(s, t, "DELETE", nil, outbox, passed)
	s.add(" AND c.owner = ", s.arg(owner))
	_, err := s.exec(ctx, q)
	return err
}

// dropOld deletes rows of members and aggregates that have been dead for long, some at a time.
func (t *sqlTable) dropOld(ctx context.Context, q querier, outbox string) error {
	age := deadRowsKept.Milliseconds()
	s := t.statement()
	s.add("SELECT unit FROM ", t.claims.String(), " WHERE outbox = ", s.arg(outbox), " AND (unit LIKE 'i:%' OR unit LIKE 'a:%') AND expires_at <= ",
		t.d.earlier(s.arg(age)), " ORDER BY unit", t.d.limit(s.arg(mendAtOnce)))
	units, err := s.units(ctx, q)
	if err != nil || len(units) == 0 {
		return err
	}
	s = t.statement()
	t.d.byUnit(s, t, "DELETE", nil, outbox, units)
	s.add(" AND c.expires_at <= ", t.d.earlier(s.arg(age)))
	_, err = s.exec(ctx, q)
	return err
}

// survey locks the counter's row first, so that surveys come one after the other: an owner that has joined is seen by every
// survey after its own, and no survey changes strategy or partition count between another's look and its takes.
func (t *sqlTable) survey(ctx context.Context, owner string, strategy Strategy, want int) (result survey, err error) {
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
		next, err := t.nextInForce(ctx, q, c, &result, owner, stored, counterInfo{strategy, want})
		result.strategy, result.partitions = next.Strategy, next.Partitions
		if err != nil || next == stored {
			return err
		}
		if stored.Strategy == SkipLocked && next.Strategy != SkipLocked && c.description.own {
			// No claim is live, so that whoever left these has died. The other strategies do not look for them before they publish
			// what is behind them.
			s := t.statement()
			if _, err := s.add("UPDATE ", t.outbox.String(), " SET state = 'PENDING' WHERE state = 'PUBLISHING'").exec(ctx, q); err != nil {
				return fmt.Errorf("free what is left PUBLISHING: %w", err)
			}
		}
		return t.storeInForce(ctx, q, c.name, next)
	})
	return result, err
}

// nextInForce is what is in force from now on: what is wanted, where nobody else lives and nothing is claimed. Claims are asked for
// beside members, because one that was taken after its owner's last renewal lives longer than that owner's row.
func (t *sqlTable) nextInForce(ctx context.Context, q querier, c *catalog, found *survey, owner string, stored, want counterInfo) (counterInfo, error) {
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
	s := t.statement()
	s.add("SELECT COUNT(*) FROM ", t.claims.String(), " WHERE outbox = ", s.arg(c.name), " AND unit NOT LIKE 'i:%' AND unit NOT IN ('*', 'pause') AND expires_at > ", t.d.now())
	var live int
	if err := s.row(ctx, q, &live); err != nil {
		return stored, fmt.Errorf("count live claims: %w", err)
	}
	if live > 0 {
		return next, nil
	}
	return want, nil
}

// lockCounter reads what is in force, and locks its row, which it makes where there is none.
func (t *sqlTable) lockCounter(ctx context.Context, q querier, outbox string) (counterInfo, error) {
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
		return counterInfo{}, fmt.Errorf("read what is in force: %w", err)
	}
	return inForce(info.String), nil
}

func inForce(info string) counterInfo {
	var c counterInfo
	if json.Unmarshal([]byte(info), &c) != nil || c.Partitions < 0 || c.Partitions > Buckets {
		return counterInfo{} // somebody's own text: as if there were none
	}
	return c
}

func (t *sqlTable) storeInForce(ctx context.Context, q querier, outbox string, c counterInfo) error {
	info, err := json.Marshal(c)
	if err != nil {
		return err
	}
	s := t.statement()
	s.add("UPDATE ", t.claims.String(), " SET info = ", s.arg(string(info)), " WHERE outbox = ", s.arg(outbox), " AND unit = '*'")
	_, err = s.exec(ctx, q)
	return err
}

// claimed reads who leads, who holds which partitions, and live members.
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
		} else if unit == leaderUnit {
			result.leader = owner
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
