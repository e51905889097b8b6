package publisher

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// Claims are written by plain statements: an UPDATE of the rows that are there, an INSERT of those that are not, and both again where
// somebody else was there in between, which the primary key tells. MERGE would need HOLDLOCK for that, and keep the places of rows
// that are not there, and their neighbours', locked until a pick's transaction ends.

// Numbers of the errors that say so: a primary key or unique constraint, a unique index.
const (
	sqlServerDuplicateKey   = 2627
	sqlServerDuplicateIndex = 2601
)

// again does work until it does not fail by a key that has just been inserted by somebody else.
func (sqlServer) again(work func() error) error {
	for try := 1; ; try++ {
		err := work()
		var numbered interface{ SQLErrorNumber() int32 }
		if try == tries || !errors.As(err, &numbered) {
			return err
		}
		if n := numbered.SQLErrorNumber(); n != sqlServerDuplicateKey && n != sqlServerDuplicateIndex {
			return err
		}
	}
}

func (d sqlServer) draw(ctx context.Context, q querier, t *sqlTable, outbox string) (token uint64, err error) {
	err = d.again(func() error {
		s := t.statement()
		s.add("UPDATE ", t.claims.String(), " WITH (ROWLOCK) SET token = token + 1 OUTPUT inserted.token WHERE outbox = ", s.arg(outbox), " AND unit = '*'")
		if err := s.row(ctx, q, &token); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		s = t.statement()
		s.add("INSERT INTO ", t.claims.String(), " (outbox, unit, owner, token, expires_at) OUTPUT inserted.token VALUES (", s.arg(outbox), ", '*', '', 1, ", d.now(), ")")
		return s.row(ctx, q, &token)
	})
	return token, err
}

// take inserts first: the claims of aggregates are rows that go when they end. It returns what it had taken already, too: the answer
// to that was lost.
func (d sqlServer) take(ctx context.Context, q querier, t *sqlTable, outbox string, c claim, units []unitInfo, member string) (taken []string, err error) {
	err = d.again(func() error {
		s := t.statement()
		d.insertStatement(s, t, outbox, c, units)
		taken, err = s.units(ctx, q)
		if err != nil || len(taken) == len(units) {
			return err
		}
		s = t.statement()
		d.takeOverStatement(s, t, outbox, c, units)
		rest, err := s.units(ctx, q)
		for _, unit := range rest {
			if !slices.Contains(taken, unit) {
				taken = append(taken, unit)
			}
		}
		return err
	})
	if err != nil || member == "" {
		return taken, err
	}
	return t.andMember(ctx, q, outbox, c.owner, taken, member)
}

// insertStatement makes the claims that are not there.
func (d sqlServer) insertStatement(s *statement, t *sqlTable, outbox string, c claim, units []unitInfo) {
	name := s.arg(outbox)
	s.add("INSERT INTO ", t.claims.String(), " (outbox, unit, owner, token, expires_at, info) OUTPUT inserted.unit SELECT ", name, ", r.unit, ", s.arg(c.owner),
		", ", s.arg(int64(c.token)), ", ", d.later(s.arg(c.ttl.Milliseconds())), ", r.info FROM ", s.rows("r", unitColumns, jsonUnits(units)), //nolint:gosec // tokens count up from 1
		" WHERE NOT EXISTS (SELECT 1 FROM ", t.claims.String(), " AS c WHERE c.outbox = ", name, " AND c.unit = r.unit", sqlServerExact, ")")
}

// takeOverStatement replaces the claims that have ended.
func (d sqlServer) takeOverStatement(s *statement, t *sqlTable, outbox string, c claim, units []unitInfo) {
	owner, token := s.arg(c.owner), s.arg(int64(c.token)) //nolint:gosec // as above
	s.add("UPDATE c SET owner = ", owner, ", token = ", token, ", expires_at = ", d.later(s.arg(c.ttl.Milliseconds())), ", info = r.info OUTPUT inserted.unit FROM ",
		s.rows("r", unitColumns, jsonUnits(units)), " INNER LOOP JOIN ", t.claims.String(), " AS c WITH (ROWLOCK) ON c.unit = r.unit", sqlServerExact,
		" WHERE c.outbox = ", s.arg(outbox), " AND (c.expires_at <= ", d.now(), " OR c.owner = ", owner, " AND c.token = ", token, ")")
}

// byUnit reads the list first and seeks each unit's row.
func (d sqlServer) byUnit(s *statement, t *sqlTable, verb string, set func() string, outbox string, units []string) {
	hint, _ := d.lock(false)
	switch verb {
	case "SELECT":
		s.add("SELECT c.unit")
	case "DELETE":
		s.add("DELETE c")
	default:
		s.add("UPDATE c SET ", set())
	}
	s.add(" FROM ", s.rows("r", unitColumns, jsonUnits(named(units))), " INNER LOOP JOIN ", t.claims.String(), " AS c", hint,
		" ON c.unit = r.unit", sqlServerExact, " WHERE c.outbox = ", s.arg(outbox))
}

func (d sqlServer) put(ctx context.Context, q querier, t *sqlTable, outbox, unit, owner string, token uint64, ms int64, info string) error {
	return d.again(func() error {
		s := t.statement()
		s.add("UPDATE ", t.claims.String(), " WITH (ROWLOCK) SET owner = ", s.arg(owner), ", token = ", s.arg(int64(token)), ", expires_at = ", d.later(s.arg(ms)), //nolint:gosec // as above
			", info = ", s.arg(info), " WHERE outbox = ", s.arg(outbox), " AND unit = ", s.arg(unit))
		if n, err := s.exec(ctx, q); err != nil || n > 0 {
			return err
		}
		s = t.statement()
		s.add("INSERT INTO ", t.claims.String(), " (outbox, unit, owner, token, expires_at, info) VALUES (", s.arg(outbox), ", ", s.arg(unit), ", ", s.arg(owner), ", ",
			s.arg(int64(token)), ", ", d.later(s.arg(ms)), ", ", s.arg(info), ")") //nolint:gosec // as above
		_, err := s.exec(ctx, q)
		return err
	})
}
