package publisher

// PostgreSQL and SQLite have INSERT … ON CONFLICT … DO UPDATE … RETURNING: each of these is one statement.

// onConflictDraw is claimsSyntax.draw.
func onConflictDraw(p place) []step {
	return []step{{shows: true, write: func(s *statement) {
		s.add("INSERT INTO ", p.table, " AS c (outbox, unit, owner, token, expires_at) VALUES (", s.arg(p.outbox), ", '*', '', 1, ", s.syntax.now(), ")",
			" ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token")
	}}}
}

// onConflictTake shows the shards that it inserted or replaced, and those that it had taken already: the answer to that was lost.
func onConflictTake(s *statement, p place, c claim, shards []shard, filter string) {
	s.add("INSERT INTO ", p.table, " AS c (outbox, unit, owner, token, expires_at, info) SELECT CAST(", s.arg(p.outbox), " AS text), r.unit, CAST(",
		s.arg(c.owner), " AS text), CAST(", s.arg(int64(c.token)), " AS bigint), ", //nolint:gosec // tokens count up from 1
		s.syntax.later(s.arg(c.ttl.Milliseconds())), ", r.info FROM ", s.rows("r", shardFields, jsonShards(shards)), filter, " ORDER BY r.unit",
		" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at, info = excluded.info",
		" WHERE c.expires_at <= ", s.syntax.now(), " OR c.owner = excluded.owner AND c.token = excluded.token RETURNING unit")
}

// onConflictPut is claimsSyntax.put.
func onConflictPut(p place, c claim, what shard) []step {
	return []step{{write: func(s *statement) {
		s.add("INSERT INTO ", p.table, " (outbox, unit, owner, token, expires_at, info) VALUES (", s.arg(p.outbox), ", ", s.arg(what.name), ", ",
			s.arg(c.owner), ", ", s.arg(int64(c.token)), ", ", s.syntax.later(s.arg(c.ttl.Milliseconds())), ", ", s.arg(what.info), ")", //nolint:gosec // tokens count up from 1
			" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at, info = excluded.info")
	}}}
}

// byNameList is claimsSyntax.byName for engines that lock what a statement finds, and not what it looks at.
func byNameList(s *statement, p place, verb string, set func() string, names []string) {
	switch verb {
	case "SELECT":
		s.add("SELECT c.unit FROM ", p.table, " AS c")
	case "DELETE":
		s.add("DELETE FROM ", p.table, " AS c")
	default:
		s.add("UPDATE ", p.table, " AS c SET ", set())
	}
	s.add(" WHERE c.outbox = ", s.arg(p.outbox), " AND ", s.syntax.anyText(s, "c.unit", names))
}
