package claims

import "github.com/rowrelay/rowrelay/engine/statement"

// OnConflict is how PostgreSQL and SQLite write claims: INSERT … ON CONFLICT … DO UPDATE … RETURNING makes one
// statement of each.
type OnConflict struct{}

// Draw counts the token up and returns it.
func (OnConflict) Draw(p Place) []Step {
	return []Step{{Shows: true, Write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.Table, " AS c (outbox, unit, owner, token, expires_at) VALUES (", s.Arg(p.Outbox),
			", '*', '', 1, ", s.Syntax.Now(), ")",
			" ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token")
	}}}
}

// Take inserts the claims, or replaces those that are free. To SQLite ON would belong to a SELECT without WHERE.
func (OnConflict) Take(p Place, c Claim, units []string) []Step {
	return []Step{{Shows: true, Write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.Table, " AS c (outbox, unit, owner, token, expires_at) SELECT CAST(",
			s.Arg(p.Outbox), " AS text), r.unit, CAST(",
			s.Arg(c.Owner), " AS text), CAST(", s.Arg(int64(c.Token)), " AS bigint), ", //nolint:gosec // tokens count up from 1
			s.Syntax.Later(s.Arg(c.TTL.Milliseconds())), " FROM ", Units(s, "r", units), " WHERE true ORDER BY r.unit",
			" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at",
			" WHERE c.expires_at <= ", s.Syntax.Now(), " OR c.owner = excluded.owner RETURNING unit")
	}}}
}

// Conflict is always false: ON CONFLICT takes the place of an error for a row that is there already.
func (OnConflict) Conflict(error) bool { return false }

// ByName takes the names as one list: PostgreSQL locks only the rows that a statement finds, and SQLite none.
func (OnConflict) ByName(s *statement.Statement, p Place, verb string, set func() string, units []string) {
	switch verb {
	case "SELECT":
		s.Add("SELECT c.unit FROM ", p.Table, " AS c")
	case "DELETE":
		s.Add("DELETE FROM ", p.Table, " AS c")
	default:
		s.Add("UPDATE ", p.Table, " AS c SET ", set())
	}
	s.Add(" WHERE c.outbox = ", s.Arg(p.Outbox), " AND ", s.Syntax.AnyText(s, "c.unit", units))
}
