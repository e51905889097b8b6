package claims

import (
	"context"
	"database/sql"
	"slices"
	"strconv"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Syntax is how an engine writes claims. It says which statements are sent, and in which order. Table sends them.
type Syntax interface {
	// Draw increments the fencing token, locks the counter's row until the transaction ends, and shows the token.
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

// Step is one statement of several. It is not sent where those before it have shown all that was wanted.
type Step struct {
	Write func(s *statement.Statement)
	Shows bool // it has a result
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

// run sends steps until they have shown n values, and returns these. It begins anew where somebody else has just made a
// row that a step was to make.
func (t *Table) run(ctx context.Context, q statement.Querier, n int, steps []Step) (shown []string, err error) {
	for try := 1; ; try++ {
		shown, err = nil, nil
		for _, step := range steps {
			if err != nil || len(shown) == n {
				break
			}
			s := t.db.Statement()
			step.Write(s)
			if !step.Shows {
				_, err = s.Exec(ctx, q)
				continue
			}
			var some []string
			some, err = s.Texts(ctx, q)
			shown = append(shown, some...)
		}
		if err == nil || try == statement.Tries || !t.syntax.Conflict(err) {
			return shown, err
		}
	}
}

// drawIn takes the next fencing token within q, a transaction.
func (t *Table) drawIn(ctx context.Context, q statement.Querier) (uint64, error) {
	shown, err := t.run(ctx, q, 1, t.syntax.Draw(t.Place))
	if err == nil && len(shown) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(shown[0], 10, 64)
}

// takeIn returns the units that it got, within q.
func (t *Table) takeIn(ctx context.Context, q statement.Querier, c Claim, units []string) ([]string, error) {
	shown, err := t.run(ctx, q, len(units), t.syntax.Take(t.Place, c, units))
	slices.Sort(shown)
	return slices.Compact(shown), err // a step may take again what one before it took
}
