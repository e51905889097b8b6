package feed

import (
	"context"
	"maps"
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
			if r.committed {
				g.Work = g.Work || t.db.work(r)
				g.Waiting = g.Waiting || r.state == event.Waiting
			}
		}
		return nil
	})
	return g, err
}

// survey is what the contract says. parts is 0 while nothing has ever been claimed.
func (t *fakeTable) survey() claims.Survey {
	s := claims.Survey{Partitions: t.db.parts, Held: map[int]string{}}
	owners := map[string]bool{}
	for i := range t.db.claims {
		if c, live := t.db.live(i); live {
			s.Held[i] = c.owner
			owners[c.owner] = true
		}
	}
	for member := range t.db.members {
		if t.db.member(member) {
			s.Members = append(s.Members, member)
			owners[member] = true
		}
	}
	if t.db.foreign != "" {
		s.Partitions = 0
		owners[t.db.foreign] = true
	} else if len(owners) == 0 {
		s.Partitions = t.partitions
	}
	slices.Sort(s.Members)
	s.Owners = slices.Sorted(maps.Keys(owners))
	return s
}

func (t *fakeTable) Survey(ctx context.Context) (claims.Survey, error) {
	return ask(ctx, t, "survey", func() (claims.Survey, error) { return t.survey(), nil })
}

func (t *fakeTable) Take(ctx context.Context, owner string, ttl time.Duration, join bool,
	choose func(*claims.Survey) []int) (claims.Taken, error) {
	return ask(ctx, t, "take", func() (got claims.Taken, err error) {
		t.db.token++
		got.Token, got.Survey = t.db.token, t.survey()
		if got.Survey.Partitions == 0 {
			return got, nil
		}
		t.db.parts = got.Survey.Partitions
		if join {
			t.db.members[owner] = t.db.now().Add(ttl)
		}
		for _, i := range choose(&got.Survey) {
			if c, live := t.db.live(i); !live || c.owner == owner {
				t.db.claims[i] = fakeClaim{owner: owner, token: got.Token, expires: t.db.now().Add(ttl)}
				got.Partitions = append(got.Partitions, i)
			}
		}
		return got, nil
	})
}

func (t *fakeTable) Renew(ctx context.Context, owner string, partitions []int, ttl time.Duration) (n int, err error) {
	err = t.do(ctx, "renew", func() error {
		n = 0
		for _, i := range partitions {
			if c, live := t.db.live(i); live && c.owner == owner {
				c.expires = t.db.now().Add(ttl)
				t.db.claims[i] = c
				n++
			}
		}
		if t.db.member(owner) {
			t.db.members[owner] = t.db.now().Add(ttl)
			n++
		}
		return nil
	})
	return n, err
}

func (t *fakeTable) Release(ctx context.Context, owner string, partitions []int) error {
	return t.do(ctx, "release", func() error {
		for i, c := range t.db.claims {
			if c.owner == owner && (partitions == nil || slices.Contains(partitions, i)) {
				delete(t.db.claims, i)
			}
		}
		if partitions == nil {
			delete(t.db.members, owner)
		}
		return nil
	})
}
