package claims

import "github.com/rowrelay/rowrelay/engine/statement"

// PostgreSQL and SQLite have INSERT … ON CONFLICT … DO UPDATE … RETURNING: each of these is one statement.

// OnConflictDraw is Syntax.Draw.
func OnConflictDraw(p Place) []Step {
	return []Step{{Shows: true, Write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.Table, " AS c (outbox, unit, owner, token, expires_at) VALUES (", s.Arg(p.Outbox),
			", '*', '', 1, ", s.Syntax.Now(), ")",
			" ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token")
	}}}
}

// OnConflictTake is Syntax.Take. filter stands after the units, where an engine needs one.
func OnConflictTake(p Place, c Claim, units []string, filter string) []Step {
	return []Step{{Shows: true, Write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.Table, " AS c (outbox, unit, owner, token, expires_at) SELECT CAST(",
			s.Arg(p.Outbox), " AS text), r.unit, CAST(",
			s.Arg(c.Owner), " AS text), CAST(", s.Arg(int64(c.Token)), " AS bigint), ", //nolint:gosec // tokens count up from 1
			s.Syntax.Later(s.Arg(c.TTL.Milliseconds())), " FROM ", Units(s, "r", units), filter, " ORDER BY r.unit",
			" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at",
			" WHERE c.expires_at <= ", s.Syntax.Now(), " OR c.owner = excluded.owner RETURNING unit")
	}}}
}

// ByNameList is Syntax.ByName for engines that lock what a statement finds, and not what it looks at.
func ByNameList(s *statement.Statement, p Place, verb string, set func() string, units []string) {
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
