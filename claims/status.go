package claims

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
)

// Pause stops publishing; by says who, when and why. Resume is its end.
func (t *Table) Pause(ctx context.Context, by string) error {
	return t.db.Tx(ctx, "pause the outbox", func(ctx context.Context, q statement.Querier) error {
		if _, err := t.drawIn(ctx, q); err != nil { // with the counter locked, two pauses come one after the other
			return err
		}
		if err := t.resume(ctx, q); err != nil {
			return err
		}
		s := t.db.Statement("INSERT INTO ", t.Place.Table, " (outbox, unit, owner, token, expires_at, info) VALUES (")
		s.Add(s.Arg(t.Place.Outbox), ", '", pauseUnit, "', '', 0, ", t.db.Now(), ", ", s.Arg(plaintext.Start(by, 1000)), ")")
		_, err := s.Exec(ctx, q)
		return err
	})
}

// Resume ends a pause. Without one it does nothing.
func (t *Table) Resume(ctx context.Context) error { return t.db.Do(ctx, "resume the outbox", t.resume) }

func (t *Table) resume(ctx context.Context, q statement.Querier) error {
	s := t.db.Statement("DELETE FROM ", t.Place.Table)
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '", pauseUnit, "'")
	_, err := s.Exec(ctx, q)
	return err
}

// Paused adds a subquery for who paused the outbox, when and why: NULL while it is not paused. alias is that of the
// claims table.
func (t *Table) Paused(s *statement.Statement, alias string) {
	s.Add("(SELECT COALESCE(", alias, ".info, '') FROM ", t.Place.Table, " ", alias, " WHERE ", alias, ".outbox = ",
		s.Arg(t.Place.Outbox), " AND ", alias, ".unit = '", pauseUnit, "')")
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
		s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND owner <> '' AND unit <> '", cleanupUnit,
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

// fallen reports whether an owner's process is known to have died, and the grace for its last requests is over.
func (t *Table) fallen(owner string) bool {
	_, id, _ := strings.Cut(owner, "#")
	ago, died := alive.Died(t.alive, id)
	return died && ago >= alive.Grace
}

// OwnerName makes the name of an owner. id is of [alive.ID]. The other parts may come from settings: it leaves out
// spaces and #.
func OwnerName(app, instance, id string) string {
	clean := func(s string) string {
		return string(slices.DeleteFunc([]byte(s), func(c byte) bool { return c <= ' ' || c == '#' }))
	}
	return clean(app) + "/" + clean(instance) + "#" + id
}
