package claims

import (
	"context"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
)

// Join makes the owner a live member for ttl.
//
// Under skip_locked it is sent once, and the session gives up if that fails. Picks depend on the membership: an attempt
// that takes effect late must not bring it back. The next session has another name.
func (t *Table) Join(ctx context.Context, owner string, ttl time.Duration) error {
	const what = "join the outbox"
	put := func(ctx context.Context, q statement.Querier) error {
		return t.PutIn(ctx, q, Claim{Owner: owner, TTL: ttl}, Shard{Name: memberPrefix + owner})
	}
	if t.strategy == SkipLocked && t.syntax.Late() {
		return t.db.Once(ctx, what, put)
	}
	return t.db.Do(ctx, what, put)
}

// Pause stops publishing; by says who, when and why. Resume is its end.
func (t *Table) Pause(ctx context.Context, by string) error {
	return t.db.Do(ctx, "pause the outbox", func(ctx context.Context, q statement.Querier) error {
		return t.PutIn(ctx, q, Claim{}, Shard{pauseShard, plaintext.Start(by, 1000)})
	})
}

// Resume ends a pause. Without one it does nothing.
func (t *Table) Resume(ctx context.Context) error {
	return t.db.Do(ctx, "resume the outbox", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("DELETE FROM ", t.Place.Table)
		s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = 'pause'")
		_, err := s.Exec(ctx, q)
		return err
	})
}

// Paused adds a subquery for who paused the outbox, when and why: NULL while it is not paused. alias is that of the
// claims table.
func (t *Table) Paused(s *statement.Statement, alias string) {
	s.Add("(SELECT COALESCE(", alias, ".info, '') FROM ", t.Place.Table, " ", alias, " WHERE ", alias, ".outbox = ",
		s.Arg(t.Place.Outbox), " AND ", alias, ".unit = 'pause')")
}

// Owner is an instance with live claims.
type Owner struct {
	Name    string
	Token   uint64
	Units   int
	Expires time.Duration // from now, by the database's clock
}

// Owners are the instances with live claims, by name.
func (t *Table) Owners(ctx context.Context) ([]Owner, error) {
	var owners []Owner
	err := t.db.Do(ctx, "read the claims", func(ctx context.Context, q statement.Querier) error {
		owners = nil
		s := t.db.Statement("SELECT owner, MAX(token), SUM(CASE WHEN unit LIKE 'i:%' THEN 0 ELSE 1 END), MAX(-(",
			t.db.Age("expires_at"), ")) FROM ", t.Place.Table)
		s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND owner <> '' AND unit <> '", CleanupShard,
			"' AND expires_at > ", t.db.Now(), " GROUP BY owner ORDER BY owner")
		return s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
			var o Owner
			var ms int64
			if err := scan(&o.Name, &o.Token, &o.Units, &ms); err != nil {
				return false, err
			}
			o.Expires = time.Duration(ms) * time.Millisecond
			owners = append(owners, o)
			return true, nil
		})
	})
	return owners, err
}

// OwnerName makes the name of a session. The parts may come from settings: it leaves out spaces and #.
func OwnerName(app, instance, random string) string {
	clean := func(s string) string {
		return string(slices.DeleteFunc([]byte(s), func(c byte) bool { return c <= ' ' || c == '#' }))
	}
	return clean(app) + "/" + clean(instance) + "#" + random
}
