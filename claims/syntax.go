package claims

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Syntax is how an engine writes claims. It says which statements are sent, and in which order. Table sends them.
type Syntax interface {
	// Draw increments the fencing token, and locks the counter's row until the transaction ends. The first step that
	// returns a row returns the token.
	Draw(p Place) []Step
	// Take claims units that are free, expired or the owner's, and shows those that it got.
	Take(p Place, c Claim, units []string) []Step
	// Conflict reports whether a step failed because somebody else has just made the same row: the steps are repeated.
	Conflict(err error) bool
	// ByName begins a statement (SELECT of their names, DELETE or UPDATE with set) on the claims c of units, up to
	// conditions in WHERE. It looks at no other row: MySQL and SQL Server lock what a statement looks at, and two
	// that lock each other's claims on the way to their own, each in an order of its own, deadlock.
	ByName(s *statement.Statement, p Place, verb string, set func() string, units []string)
	// Ddl creates the claims table where it is not there.
	Ddl(claims statement.Name) string
}

// Step is one statement of several.
type Step struct {
	Write func(s *statement.Statement)
	Shows bool // it has a result
	Rest  bool // it is for the units that the steps before did not get
}

// Units is a table expression over units, sorted: two instances that claim several take the locks in one order.
func Units(s *statement.Statement, alias string, units []string) string {
	type object struct {
		Unit string `json:"unit"`
	}
	list := make([]object, len(units))
	for i, unit := range slices.Sorted(slices.Values(units)) {
		list[i].Unit = unit
	}
	return s.Rows(alias, []statement.Field{statement.Text("unit")}, list)
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

// drawIn takes the next fencing token within q, a transaction.
func (t *Table) drawIn(ctx context.Context, q statement.Querier) (token uint64, err error) {
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

// takeIn returns the units that it got, within q.
func (t *Table) takeIn(ctx context.Context, q statement.Querier, c Claim, units []string) (taken []string, err error) {
	err = t.again(func() error {
		taken = nil
		for _, step := range t.syntax.Take(t.Place, c, units) {
			if step.Rest && len(taken) == len(units) {
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
			for _, unit := range got {
				if !slices.Contains(taken, unit) {
					taken = append(taken, unit)
				}
			}
		}
		return nil
	})
	return taken, err
}
