package publisher

import "github.com/rowrelay/rowrelay/engine/statement"

// pgClaims is how PostgreSQL writes claims.
type pgClaims struct{}

func (pgClaims) draw(p place) []step { return onConflictDraw(p) }

func (d pgClaims) take(p place, c claim, shards []shard, member string) ([]step, bool) {
	return []step{{shows: true, write: func(s *statement.Statement) {
		if member == "" {
			onConflictTake(s, p, c, shards, "")
			return
		}
		s.Add("WITH taken AS (")
		onConflictTake(s, p, c, shards, "")
		s.Add("), alive AS (")
		d.byName(s, p, "SELECT", nil, []string{member})
		s.Add(" AND c.owner = ", s.Arg(c.owner), " AND c.expires_at > ", pgStatement{}.Now(),
			" FOR UPDATE) SELECT unit FROM taken UNION ALL SELECT unit FROM alive")
	}}}, true
}

func (pgClaims) put(p place, c claim, what shard) []step { return onConflictPut(p, c, what) }

func (pgClaims) met(error) bool { return false }

func (pgClaims) inTx() bool { return false }

func (pgClaims) late() bool { return true }

func (pgClaims) byName(s *statement.Statement, p place, verb string, set func() string, names []string) {
	byNameList(s, p, verb, set, names)
}

func (pgClaims) ddl(claims statement.Name) string {
	return `CREATE TABLE IF NOT EXISTS ` + claims.String() + ` (
    outbox varchar(190) NOT NULL,
    unit varchar(255) NOT NULL,
    owner varchar(255) NOT NULL,
    token bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    info varchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
) WITH (fillfactor = 50)`
}
