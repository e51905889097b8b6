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

// OnConflictTake shows the shards that it inserted or replaced, and those that it had taken already: the answer to
// that was lost.
func OnConflictTake(s *statement.Statement, p Place, c Claim, shards []Shard, filter string) {
	s.Add("INSERT INTO ", p.Table, " AS c (outbox, unit, owner, token, expires_at, info) SELECT CAST(",
		s.Arg(p.Outbox), " AS text), r.unit, CAST(",
		s.Arg(c.Owner), " AS text), CAST(", s.Arg(int64(c.Token)), " AS bigint), ", //nolint:gosec // tokens count up from 1
		s.Syntax.Later(s.Arg(c.TTL.Milliseconds())), ", r.info FROM ", s.Rows("r", ShardFields,
			JSONShards(shards)), filter, " ORDER BY r.unit",
		" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at, info = excluded.info",
		" WHERE c.expires_at <= ", s.Syntax.Now(), " OR c.owner = excluded.owner AND c.token = excluded.token RETURNING unit")
}

// OnConflictPut is Syntax.Put.
func OnConflictPut(p Place, c Claim, what Shard) []Step {
	return []Step{{Write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.Table, " (outbox, unit, owner, token, expires_at, info) VALUES (", s.Arg(p.Outbox),
			", ", s.Arg(what.Name), ", ",
			s.Arg(c.Owner), ", ", s.Arg(int64(c.Token)), ", ", s.Syntax.Later(s.Arg(c.TTL.Milliseconds())), ", ", s.Arg(what.Info), ")", //nolint:gosec // tokens count up from 1
			" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at, info = excluded.info")
	}}}
}

// ByNameList is Syntax.ByName for engines that lock what a statement finds, and not what it looks at.
func ByNameList(s *statement.Statement, p Place, verb string, set func() string, names []string) {
	switch verb {
	case "SELECT":
		s.Add("SELECT c.unit FROM ", p.Table, " AS c")
	case "DELETE":
		s.Add("DELETE FROM ", p.Table, " AS c")
	default:
		s.Add("UPDATE ", p.Table, " AS c SET ", set())
	}
	s.Add(" WHERE c.outbox = ", s.Arg(p.Outbox), " AND ", s.Syntax.AnyText(s, "c.unit", names))
}
