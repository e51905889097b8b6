package publisher

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// counterInfo is what is in force for all instances; the zero value: nothing yet.
type counterInfo struct {
	Strategy   Strategy `json:"strategy,omitempty"`
	Partitions int      `json:"partitions,omitempty"`
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
		var next counterInfo
		judge := func() (err error) {
			if result, err = t.claimed(ctx, q, c.name); err != nil {
				return err
			}
			next, err = t.nextInForce(ctx, q, c, &result, owner, stored, counterInfo{strategy, want})
			result.strategy, result.partitions = next.Strategy, next.Partitions
			return err
		}
		skipLockedEnds := func() bool { return stored.Strategy == SkipLocked && next.Strategy != SkipLocked }
		if err := judge(); err != nil {
			return err
		}
		if skipLockedEnds() {
			if err := t.dropLapsed(ctx, q, c.name); err != nil {
				return err
			}
			if err := judge(); err != nil { // a pick that was waited for may have left claims that live
				return err
			}
		}
		if skipLockedEnds() {
			if err := t.freePublishing(ctx, q, c); err != nil {
				return err
			}
		}
		if next == stored {
			return nil
		}
		return t.storeInForce(ctx, q, c.name, next)
	})
	return result, err
}

// dropLapsed deletes the rows of all members that are not live, before another strategy comes into force. It waits for picks of theirs
// that are under way, which have locked them; what those have committed is seen by every statement behind this one. A pick that
// comes later finds that its owner is no member, be its clock before the membership's end. (A lock without a change would not do: a
// statement that waits for it goes on with the time at which it began.)
//
// There is no row that it misses: whoever joins meanwhile surveys before it picks, and so waits for the counter.
func (t *sqlTable) dropLapsed(ctx context.Context, q querier, outbox string) error {
	s := t.statement()
	s.add("SELECT unit FROM ", t.claims.String(), " WHERE outbox = ", s.arg(outbox), " AND unit LIKE 'i:%' AND expires_at <= ", t.d.now())
	units, err := s.units(ctx, q)
	if err != nil || len(units) == 0 {
		return err
	}
	s = t.statement()
	t.d.byUnit(s, t, "DELETE", nil, outbox, units)
	s.add(" AND c.expires_at <= ", t.d.now())
	if _, err = s.exec(ctx, q); err != nil {
		return fmt.Errorf("remove lapsed members: %w", err)
	}
	return nil
}

// freePublishing makes PENDING what was left PUBLISHING when skip_locked ends: no claim is live, so that whoever left it has died.
// The other strategies do not look for it before they publish what is behind it.
func (t *sqlTable) freePublishing(ctx context.Context, q querier, c *catalog) error {
	if !c.description.own {
		return nil
	}
	_, err := t.statement().add("UPDATE ", t.outbox.String(), " SET state = 'PENDING' WHERE state = 'PUBLISHING'").exec(ctx, q)
	if err != nil {
		return fmt.Errorf("free what is left PUBLISHING: %w", err)
	}
	return nil
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
