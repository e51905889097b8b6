package sqlite

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how SQLite writes claims.
type Claims struct{}

// Draw counts the token up and returns it in one statement, by INSERT … ON CONFLICT … RETURNING.
func (Claims) Draw(p claims.Place) []claims.Step { return claims.OnConflictDraw(p) }

// Take is one INSERT … ON CONFLICT … DO UPDATE … RETURNING.
func (Claims) Take(p claims.Place, c claims.Claim, units []string) []claims.Step {
	return claims.OnConflictTake(p, c, units, " WHERE true") // without it ON would belong to the SELECT
}

// Conflict is always false: ON CONFLICT takes the place of an error for a row that is there already.
func (Claims) Conflict(error) bool { return false }

// ByName takes the names as one list: SQLite locks no rows.
func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, units []string) {
	claims.ByNameList(s, p, verb, set, units)
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
