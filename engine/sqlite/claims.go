package sqlite

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how SQLite writes claims.
type Claims struct{ claims.OnConflict }

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
