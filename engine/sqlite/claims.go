package sqlite

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how SQLite writes claims.
type Claims struct{}

// Draw counts the token up and returns it in one statement, by INSERT … ON CONFLICT … RETURNING.
func (Claims) Draw(p claims.Place) []claims.Step { return claims.OnConflictDraw(p) }

// Take is one statement. It leaves the member to a statement of its own: a transaction that writes is alone in the
// database.
func (Claims) Take(p claims.Place, c claims.Claim, shards []claims.Shard, _ string) ([]claims.Step, bool) {
	return []claims.Step{{Shows: true, Write: func(s *statement.Statement) {
		claims.OnConflictTake(s, p, c, shards, " WHERE true") // without it ON would belong to the SELECT
	}}}, false
}

// Put is one INSERT … ON CONFLICT … DO UPDATE.
func (Claims) Put(p claims.Place, c claims.Claim, what claims.Shard) []claims.Step {
	return claims.OnConflictPut(p, c, what)
}

// Conflict is always false: ON CONFLICT takes the place of an error for a row that is there already.
func (Claims) Conflict(error) bool { return false }

// InTx is false: RETURNING shows what the statement itself has written.
func (Claims) InTx() bool { return false }

// Late is false: SQLite is a library, where what has failed cannot take effect any more.
func (Claims) Late() bool { return false }

// ByName takes the names as one list: SQLite locks no rows.
func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, names []string) {
	claims.ByNameList(s, p, verb, set, names)
}

// Ddl creates the claims table without a rowid, so that the rows themselves are kept by their key.
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
