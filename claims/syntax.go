package claims

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Syntax is how an engine writes claims. It says which statements are sent, and in which order. Table sends them.
type Syntax interface {
	// Draw increments the fencing token. The first step that returns a row returns the token.
	Draw(p Place) []Step
	// Take claims shards that are free or expired, in the order of their names, and shows those that it got: what is
	// claimed under the same token already is among them. withMember says that the steps also lock the row of member
	// ("" for none) until the transaction ends, after the shards, and show it where it is the owner's and live.
	Take(p Place, c Claim, shards []Shard, member string) (steps []Step, withMember bool)
	// Put replaces owner, token, expiry and info of a row, whoever holds it, or makes it. The first step that changes
	// a row is the last.
	Put(p Place, c Claim, s Shard) []Step
	// Conflict reports whether a step failed because somebody else has just made the same row: the steps are repeated.
	Conflict(err error) bool
	// InTx says that draw and take need a transaction: they read what they have written.
	InTx() bool
	// Late says that a statement which has failed may still take effect: it was sent to a server.
	Late() bool
	// ByName begins a statement (SELECT of their names, DELETE or UPDATE with set) on the claims c of shards, up to
	// conditions in WHERE. It looks at no other row: MySQL and SQL Server lock what a statement looks at, and two
	// that lock each other's claims on the way to their own, each in an order of its own, deadlock.
	ByName(s *statement.Statement, p Place, verb string, set func() string, names []string)
	// Ddl creates the claims table where it is not there.
	Ddl(claims statement.Name) string
}

// Step is one statement of several.
type Step struct {
	Write func(s *statement.Statement)
	Shows bool // it has a result
	Rest  bool // it is for the shards that the steps before did not get
}

// ShardFields are those of jsonShards.
var ShardFields = []statement.Field{statement.Text("unit"), statement.Text("info")}

// JSONShards are shards for statement.rows, sorted: two instances that claim several take the locks in one order.
func JSONShards(shards []Shard) any {
	type object struct {
		Unit string  `json:"unit"`
		Info *string `json:"info"`
	}
	list := make([]object, len(shards))
	for i, s := range shards {
		list[i].Unit = s.Name
		if s.Info != "" {
			list[i].Info = &s.Info
		}
	}
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(a.Unit, b.Unit) })
	return list
}

// again does work until it does not fail because of a row that somebody else has just made.
func (t *Table) again(work func() error) error {
	for try := 1; ; try++ {
		err := work()
		if err == nil || try == statement.Tries || !t.syntax.Conflict(err) {
			return err
		}
	}
}

// DrawIn takes the next fencing token within q.
func (t *Table) DrawIn(ctx context.Context, q statement.Querier) (token uint64, err error) {
	err = t.again(func() error {
		for _, step := range t.syntax.Draw(t.Place) {
			s := t.db.Statement()
			step.Write(s)
			if !step.Shows {
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

// TakeIn returns the shards that it got and, where it is live, member.
func (t *Table) TakeIn(ctx context.Context, q statement.Querier, c Claim, shards []Shard,
	member string) (taken []string, err error) {
	steps, withMember := t.syntax.Take(t.Place, c, shards, member)
	err = t.again(func() error {
		taken = nil
		for _, step := range steps {
			if step.Rest && len(taken) == len(shards) {
				continue
			}
			s := t.db.Statement()
			step.Write(s)
			if !step.Shows {
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
	live, err := t.LockShards(ctx, q, c.Owner, []string{member}, " AND c.expires_at > "+t.db.Now())
	return append(taken, live...), err
}

// PutIn inserts a claim of a shard or takes it over, within q.
func (t *Table) PutIn(ctx context.Context, q statement.Querier, c Claim, what Shard) error {
	return t.again(func() error {
		for _, step := range t.syntax.Put(t.Place, c, what) {
			s := t.db.Statement()
			step.Write(s)
			if n, err := s.Exec(ctx, q); err != nil || n > 0 {
				return err
			}
		}
		return nil
	})
}
