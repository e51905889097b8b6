package feed

import (
	"context"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// open is for newFeed.
func (t *fakeTable) open(context.Context) (*Outbox, error) {
	return &Outbox{Origin: poller.Origin{Engine: "fake", Table: "outbox", Fingerprint: "sha256:0"}, Own: !t.db.mapped,
		Claims: t, Events: t}, nil
}

func (t *fakeTable) Look(ctx context.Context) (g event.Glance, err error) {
	err = t.do(ctx, "look", func() error {
		g = event.Glance{Paused: t.db.pausedBy != "", By: t.db.pausedBy, Partitions: t.db.parts}
		for _, r := range t.db.rows {
			if _, claimed := t.db.live(unitOfAggregate(r.agg)); r.committed {
				g.Work = g.Work || r.state == event.Pending || r.state == event.Failed && !r.next.After(t.db.now()) ||
					r.state == event.Publishing && !claimed
				g.Waiting = g.Waiting || r.state == event.Waiting
			}
		}
		return nil
	})
	return g, err
}

func (t *fakeTable) Draw(ctx context.Context) (token uint64, err error) {
	err = t.do(ctx, "draw", func() error { t.db.token++; token = t.db.token; return nil })
	return token, err
}

func (t *fakeTable) Survey(ctx context.Context, owner string, wanted claims.Force) (result claims.Survey, err error) {
	strategy, want := wanted.Strategy, wanted.Partitions
	err = t.do(ctx, "survey", func() error {
		result = claims.Survey{Held: map[int]string{}}
		claimed := false
		for unit := range t.db.claims {
			if c, live := t.db.live(unit); live {
				claimed = true
				if unit == claims.LeaderShard {
					result.Leader = c.owner
				}
				if i, ok := claims.PartitionOf(unit); ok {
					result.Held[i] = c.owner
				}
			}
		}
		for member := range t.db.members {
			if t.db.member(member) {
				result.Members = append(result.Members, member)
			}
		}
		slices.Sort(result.Members)
		alone := len(result.Members) == 0 || len(result.Members) == 1 && result.Members[0] == owner
		if want > 0 && (t.db.parts == 0 || alone && !claimed) {
			t.db.parts = want
		}
		if t.db.strategy == "" || alone && !claimed {
			if t.db.strategy == claims.SkipLocked && strategy != claims.SkipLocked {
				for _, r := range t.db.rows {
					if r.state == event.Publishing {
						r.state = event.Pending
					}
				}
			}
			t.db.strategy = strategy
		}
		result.Force = claims.Force{Strategy: t.db.strategy, Partitions: t.db.parts}
		return nil
	})
	return result, err
}

func (t *fakeTable) Join(ctx context.Context, owner string, ttl time.Duration) error {
	return t.do(ctx, "join", func() error { t.db.members[owner] = t.db.now().Add(ttl); return nil })
}

func (t *fakeTable) Renew(ctx context.Context, owner string, ttl time.Duration) (n int, err error) {
	err = t.do(ctx, "renew", func() error {
		n = 0
		if !t.db.member(owner) {
			return claims.ErrLost
		}
		for unit := range t.db.claims {
			if c, live := t.db.live(unit); live && c.owner == owner {
				c.expires = t.db.now().Add(ttl)
				t.db.claims[unit] = c
				n++
			}
		}
		t.db.members[owner] = t.db.now().Add(ttl)
		return nil
	})
	return n, err
}

func (t *fakeTable) Take(ctx context.Context, owner string, token uint64, units []string, ttl time.Duration) ([]string,
	error) {
	return ask(ctx, t, "take", func() (got []string, err error) {
		for _, unit := range units {
			if c, live := t.db.live(unit); !live || c.owner == owner {
				t.db.claims[unit] = fakeClaim{owner: owner, token: token, expires: t.db.now().Add(ttl)}
				got = append(got, unit)
			}
		}
		return got, nil
	})
}

func (t *fakeTable) Release(ctx context.Context, owner string, units []string) error {
	return t.do(ctx, "release", func() error {
		for unit, c := range t.db.claims {
			if c.owner != owner || units != nil && !slices.Contains(units, unit) {
				continue
			}
			if c.agg != nil {
				for _, r := range t.db.rows {
					if r.agg == *c.agg && r.state == event.Publishing {
						r.state = event.Pending
					}
				}
			}
			delete(t.db.claims, unit)
		}
		if units == nil {
			delete(t.db.members, owner)
		}
		return nil
	})
}
