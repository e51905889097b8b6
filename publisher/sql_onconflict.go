package publisher

import "context"

// PostgreSQL and SQLite have INSERT … ON CONFLICT … DO UPDATE … RETURNING: each of these is one statement.

func onConflictDraw(ctx context.Context, q querier, t *sqlTable, outbox string) (uint64, error) {
	s := t.statement()
	s.add("INSERT INTO ", t.claims.String(), " AS c (outbox, unit, owner, token, expires_at) VALUES (", s.arg(outbox), ", '*', '', 1, ", t.d.now(), ")",
		" ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token")
	var token uint64
	err := s.row(ctx, q, &token)
	return token, err
}

// onConflictTake returns the units that it inserted or replaced, and those that it had taken already: the answer to that was lost.
func onConflictTake(s *statement, t *sqlTable, outbox string, c claim, units []unitInfo, filter string) {
	s.add("INSERT INTO ", t.claims.String(), " AS c (outbox, unit, owner, token, expires_at, info) SELECT CAST(", s.arg(outbox), " AS text), r.unit, CAST(",
		s.arg(c.owner), " AS text), CAST(", s.arg(int64(c.token)), " AS bigint), ", //nolint:gosec // tokens count up from 1
		t.d.later(s.arg(c.ttl.Milliseconds())), ", r.info FROM ", s.rows("r", unitColumns, jsonUnits(units)), filter, " ORDER BY r.unit",
		" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at, info = excluded.info",
		" WHERE c.expires_at <= ", t.d.now(), " OR c.owner = excluded.owner AND c.token = excluded.token RETURNING unit")
}

func onConflictPut(ctx context.Context, q querier, t *sqlTable, outbox, unit, owner string, token uint64, ms int64, info string) error {
	s := t.statement()
	s.add("INSERT INTO ", t.claims.String(), " (outbox, unit, owner, token, expires_at, info) VALUES (", s.arg(outbox), ", ", s.arg(unit), ", ",
		s.arg(owner), ", ", s.arg(int64(token)), ", ", t.d.later(s.arg(ms)), ", ", s.arg(info), ")", //nolint:gosec // tokens count up from 1
		" ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at, info = excluded.info")
	_, err := s.exec(ctx, q)
	return err
}
