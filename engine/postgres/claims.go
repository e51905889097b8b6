package postgres

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how PostgreSQL writes claims.
type Claims struct{}

func (Claims) Draw(p claims.Place) []claims.Step { return claims.OnConflictDraw(p) }

func (d Claims) Take(p claims.Place, c claims.Claim, shards []claims.Shard, member string) ([]claims.Step, bool) {
	return []claims.Step{{Shows: true, Write: func(s *statement.Statement) {
		if member == "" {
			claims.OnConflictTake(s, p, c, shards, "")
			return
		}
		s.Add("WITH taken AS (")
		claims.OnConflictTake(s, p, c, shards, "")
		s.Add("), alive AS (")
		d.ByName(s, p, "SELECT", nil, []string{member})
		s.Add(" AND c.owner = ", s.Arg(c.Owner), " AND c.expires_at > ", Statement{}.Now(),
			" FOR UPDATE) SELECT unit FROM taken UNION ALL SELECT unit FROM alive")
	}}}, true
}

func (Claims) Put(p claims.Place, c claims.Claim, what claims.Shard) []claims.Step {
	return claims.OnConflictPut(p, c, what)
}

func (Claims) Met(error) bool { return false }

func (Claims) InTx() bool { return false }

func (Claims) Late() bool { return true }

func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, names []string) {
	claims.ByNameList(s, p, verb, set, names)
}

func (Claims) Ddl(claims statement.Name) string {
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
