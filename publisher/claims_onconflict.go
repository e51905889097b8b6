package publisher

import "github.com/rowrelay/rowrelay/engine/statement"

// PostgreSQL and SQLite have INSERT … ON CONFLICT … DO UPDATE … RETURNING: each of these is one statement.

// onConflictDraw is claimsSyntax.draw.
func onConflictDraw(p place) []step {
	return []step{{shows: true, write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.table, " AS c (outbox, unit, owner, token, expires_at) VALUES (", s.Arg(p.outbox), ", '*', '', 1, ", s.Syntax.Now(), ")",
			" ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token")
	}}}
}

// onConflictTake shows the shards that it inserted or replaced, and those that it had taken already: the answer to that was lost.
func onConflictTake(s *statement.Statement, p place, c claim, shards []shard, filter string) {
	s.Add("INSERT INTO ", p.table, " AS c (outbox, unit, owner, token, expires_at, info) SELECT CAST(", s.Arg(p.outbox), " AS text), r.unit, CAST(",
		s.Arg(c.owner), " AS text), CAST(", s.Arg(int64(c.token)), " AS bigint), ", //nolint:gosec // tokens count up from 1
		s.Syntax.Later(s.Arg(c.ttl.Milliseconds())), ", r.info FROM ", s.Rows("r", shardFields, jsonShards(shards)), filter, " ORDER BY r.unit",
		" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at, info = excluded.info",
		" WHERE c.expires_at <= ", s.Syntax.Now(), " OR c.owner = excluded.owner AND c.token = excluded.token RETURNING unit")
}

// onConflictPut is claimsSyntax.put.
func onConflictPut(p place, c claim, what shard) []step {
	return []step{{write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.table, " (outbox, unit, owner, token, expires_at, info) VALUES (", s.Arg(p.outbox), ", ", s.Arg(what.name), ", ",
			s.Arg(c.owner), ", ", s.Arg(int64(c.token)), ", ", s.Syntax.Later(s.Arg(c.ttl.Milliseconds())), ", ", s.Arg(what.info), ")", //nolint:gosec // tokens count up from 1
			" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at, info = excluded.info")
	}}}
}

// byNameList is claimsSyntax.byName for engines that lock what a statement finds, and not what it looks at.
func byNameList(s *statement.Statement, p place, verb string, set func() string, names []string) {
	switch verb {
	case "SELECT":
		s.Add("SELECT c.unit FROM ", p.table, " AS c")
	case "DELETE":
		s.Add("DELETE FROM ", p.table, " AS c")
	default:
		s.Add("UPDATE ", p.table, " AS c SET ", set())
	}
	s.Add(" WHERE c.outbox = ", s.Arg(p.outbox), " AND ", s.Syntax.AnyText(s, "c.unit", names))
}
