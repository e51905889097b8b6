package postgres

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how PostgreSQL writes claims.
type Claims struct{}

// Draw counts the token up and returns it in one statement, by INSERT … ON CONFLICT … RETURNING.
func (Claims) Draw(p claims.Place) []claims.Step { return claims.OnConflictDraw(p) }

// Take is one INSERT … ON CONFLICT … DO UPDATE … RETURNING.
func (Claims) Take(p claims.Place, c claims.Claim, units []string) []claims.Step {
	return claims.OnConflictTake(p, c, units, "")
}

// Conflict is always false: ON CONFLICT takes the place of an error for a row that is there already.
func (Claims) Conflict(error) bool { return false }

// ByName takes the names as one list: PostgreSQL locks only the rows that a statement finds.
func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, units []string) {
	claims.ByNameList(s, p, verb, set, units)
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
