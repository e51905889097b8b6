package postgres

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how PostgreSQL writes claims.
type Claims struct{}

// Draw counts the token up and returns it in one statement, by INSERT … ON CONFLICT … RETURNING.
func (Claims) Draw(p claims.Place) []claims.Step { return claims.OnConflictDraw(p) }

// Take is one statement: with a member, a second common table expression locks its row and shows it where it is live.
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

// Put is one INSERT … ON CONFLICT … DO UPDATE.
func (Claims) Put(p claims.Place, c claims.Claim, what claims.Shard) []claims.Step {
	return claims.OnConflictPut(p, c, what)
}

// Conflict is always false: ON CONFLICT takes the place of an error for a row that is there already.
func (Claims) Conflict(error) bool { return false }

// InTx is false: RETURNING shows what the statement itself has written.
func (Claims) InTx() bool { return false }

// Late is true: the server may still carry out a statement after its connection was lost.
func (Claims) Late() bool { return true }

// ByName takes the names as one list: PostgreSQL locks only the rows that a statement finds.
func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, names []string) {
	claims.ByNameList(s, p, verb, set, names)
}

// Ddl creates the claims table with half of each page free, so that an updated claim finds room on its page.
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
