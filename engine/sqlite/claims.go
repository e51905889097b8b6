package sqlite

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how SQLite writes claims.
type Claims struct{}

func (Claims) Draw(p claims.Place) []claims.Step { return claims.OnConflictDraw(p) }

func (Claims) Take(p claims.Place, c claims.Claim, shards []claims.Shard, _ string) ([]claims.Step, bool) {
	return []claims.Step{{Shows: true, Write: func(s *statement.Statement) {
		claims.OnConflictTake(s, p, c, shards, " WHERE true") // without it ON would belong to the SELECT
	}}}, false
}

func (Claims) Put(p claims.Place, c claims.Claim, what claims.Shard) []claims.Step {
	return claims.OnConflictPut(p, c, what)
}

func (Claims) Met(error) bool { return false }

func (Claims) InTx() bool { return false }

// Late: SQLite is a library, where what has failed cannot take effect any more.
func (Claims) Late() bool { return false }

func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, names []string) {
	claims.ByNameList(s, p, verb, set, names)
}

func (Claims) Ddl(claims statement.Name) string {
	return `CREATE TABLE IF NOT EXISTS ` + claims.String() + ` (
    outbox TEXT NOT NULL,
    unit TEXT NOT NULL,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires_at TEXT NOT NULL,
    info TEXT NULL,
    PRIMARY KEY (outbox, unit)
) WITHOUT ROWID`
}
