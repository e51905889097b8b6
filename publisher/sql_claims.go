package publisher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/plaintext"
)

// Rows of the claims table beside the units of units.go: the fencing counter (its info is what is in force:
// {"strategy":"partitioned","partitions":64}), which exists while paused, live members, and aggregates.
const (
	counterUnit     = "*"
	pauseUnit       = "pause"
	memberPrefix    = "i:"
	aggregatePrefix = "a:"
)

// errNoMember: whoever has lapsed may have been replaced by another strategy.
var errNoMember = fmt.Errorf("%w: its membership has lapsed", errLost)

// Dead rows of members and aggregates are kept so long for people to see.
const deadRowsKept = time.Hour

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

// join is sent once by an instance of skip_locked, which gives up where that fails: the membership is what its picks depend on, and
// an attempt that takes effect late must not bring it back (see pick). The next session has another name.
func (t *sqlTable) join(ctx context.Context, owner string, ttl time.Duration) error {
	c, err := t.catalog(ctx)
	if err != nil {
		return err
	}
	const what = "join the outbox"
	put := func(ctx context.Context, q querier) error {
		return t.d.put(ctx, q, t, c.name, memberPrefix+owner, owner, 0, ttl.Milliseconds(), "")
	}
	if t.cfg.Strategy != SkipLocked || t.d.engine() == "sqlite" { // a library: what has failed there cannot take effect any more
		return t.do(ctx, what, put)
	}
	if err := t.once(ctx, put); err != nil {
		return t.explain(what, err)
	}
	return nil
}

// renew extends only what has not expired: what has may be another's by now, or belong to a strategy or partition count that is not
// in force any more. The member's row comes last and by itself, because a pick under way holds it.
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
	return len(held), t.do(ctx, "renew the membership", func(ctx context.Context, q querier) error {
		s := t.statement()
		t.d.byUnit(s, t, "UPDATE", func() string { return "expires_at = " + t.d.later(s.arg(ttl.Milliseconds())) }, c.name, []string{memberPrefix + owner})
		s.add(" AND c.owner = ", s.arg(owner), " AND c.expires_at > ", t.d.now())
		if n, err := s.exec(ctx, q); err != nil || n > 0 {
			return err
		}
		return errNoMember
	})
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

// andMember locks the member's row, and adds it to units where it is the owner's and live.
func (t *sqlTable) andMember(ctx context.Context, q querier, outbox, owner string, units []string, member string) ([]string, error) {
	alive, err := t.lockUnits(ctx, q, outbox, owner, []string{member}, " AND c.expires_at > "+t.d.now())
	return append(units, alive...), err
}

// bySeqList is bySeq for engines that do not lock what a statement only looks at.
func bySeqList(s *statement, table name, set func() string, seqs []int64) {
	s.add("UPDATE ", table.String(), " SET ", set(), " WHERE ")
	s.add(s.d.anyInt(s, s.d.seq(), seqs))
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
		got, err = t.d.take(ctx, q, t, c.name, claim{owner, token, ttl}, named(units), "")
		return err
	})
	slices.Sort(got)
	return got, err
}

// release is one transaction, so that an event is never PENDING while its aggregate is still claimed for longer than that, nor
// PUBLISHING under no claim. A crash before it: others wait until the claims have expired. (So they do where a pick whose answer was
// lost commits while this waits for the member's row: its events become PENDING, its claims are not found any more.)
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

// pause stops publishing; info says who, when and why. resume is its end.
func (t *sqlTable) pause(ctx context.Context, by string) error {
	c, err := t.catalog(ctx)
	if err != nil {
		return err
	}
	return t.do(ctx, "pause the outbox", func(ctx context.Context, q querier) error {
		return t.d.put(ctx, q, t, c.name, pauseUnit, "", 0, 0, plaintext.Start(by, 1000))
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
