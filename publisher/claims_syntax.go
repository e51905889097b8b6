package publisher

import (
	"context"
	"database/sql"
	"errors"
	"github.com/rowrelay/rowrelay/engine/statement"
	"slices"
	"strings"
)

// claimsSyntax is how an engine writes claims. It says what is sent, in which order; claimsTable sends it.
type claimsSyntax interface {
	// draw counts the fencing token up. The first step that shows a row shows it.
	draw(p place) []step
	// take claims shards that are free or expired, in the order of their names, and shows those that it got: what is claimed under
	// the same token already is among them.
	// withMember says that the steps also lock the row of member ("" for none) until the transaction ends, after the shards, and
	// show it where it is the owner's and live.
	take(p place, c claim, shards []shard, member string) (steps []step, withMember bool)
	// put replaces owner, token, expiry and info of a row, whoever holds it, or makes it. The first step that changes a row is the last.
	put(p place, c claim, s shard) []step
	// met says that a step failed because somebody else has just made the same row: the steps are to be repeated.
	met(err error) bool
	// inTx says that draw and take need a transaction: they read what they have written.
	inTx() bool
	// late says that a statement which has failed may still take effect: it was sent to a server.
	late() bool
	// byName begins a statement (SELECT of their names, DELETE or UPDATE with set) on the claims c of shards, up to conditions in
	// WHERE. It looks at no other row: MySQL and SQL Server lock what a statement looks at, and two that lock each other's claims
	// on the way to their own, each in an order of its own, deadlock.
	byName(s *statement.Statement, p place, verb string, set func() string, names []string)
	// ddl creates the claims table where it is not there.
	ddl(claims statement.Name) string
}

// step is one statement of several.
type step struct {
	write func(s *statement.Statement)
	shows bool // it has a result
	rest  bool // it is for the shards that the steps before did not get
}

// shardFields are those of jsonShards.
var shardFields = []statement.Field{statement.Text("unit"), statement.Text("info")}

// jsonShards are shards for statement.rows, sorted: two instances that claim several take the locks in one order.
func jsonShards(shards []shard) any {
	type object struct {
		Unit string  `json:"unit"`
		Info *string `json:"info"`
	}
	list := make([]object, len(shards))
	for i, s := range shards {
		list[i].Unit = s.name
		if s.info != "" {
			list[i].Info = &s.info
		}
	}
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(a.Unit, b.Unit) })
	return list
}

// again does work until it does not fail because of a row that somebody else has just made.
func (t *claimsTable) again(work func() error) error {
	for try := 1; ; try++ {
		err := work()
		if err == nil || try == statement.Tries || !t.syntax.met(err) {
			return err
		}
	}
}

func (t *claimsTable) drawIn(ctx context.Context, q statement.Querier) (token uint64, err error) {
	err = t.again(func() error {
		for _, step := range t.syntax.draw(t.place) {
			s := t.db.Statement()
			step.write(s)
			if !step.shows {
				if _, err := s.Exec(ctx, q); err != nil {
					return err
				}
				continue
			}
			if err := s.Row(ctx, q, &token); !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		return sql.ErrNoRows
	})
	return token, err
}

// takeIn returns the shards that it got and, where it is live, member.
func (t *claimsTable) takeIn(ctx context.Context, q statement.Querier, c claim, shards []shard, member string) (taken []string, err error) {
	steps, withMember := t.syntax.take(t.place, c, shards, member)
	err = t.again(func() error {
		taken = nil
		for _, step := range steps {
			if step.rest && len(taken) == len(shards) {
				continue
			}
			s := t.db.Statement()
			step.write(s)
			if !step.shows {
				if _, err := s.Exec(ctx, q); err != nil {
					return err
				}
				continue
			}
			got, err := s.Texts(ctx, q)
			if err != nil {
				return err
			}
			for _, name := range got {
				if !slices.Contains(taken, name) {
					taken = append(taken, name)
				}
			}
		}
		return nil
	})
	if err != nil || member == "" || withMember {
		return taken, err
	}
	live, err := t.lockShards(ctx, q, c.owner, []string{member}, " AND c.expires_at > "+t.db.Now())
	return append(taken, live...), err
}

func (t *claimsTable) putIn(ctx context.Context, q statement.Querier, c claim, what shard) error {
	return t.again(func() error {
		for _, step := range t.syntax.put(t.place, c, what) {
			s := t.db.Statement()
			step.write(s)
			if n, err := s.Exec(ctx, q); err != nil || n > 0 {
				return err
			}
		}
		return nil
	})
}
