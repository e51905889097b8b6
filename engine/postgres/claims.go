package postgres

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how PostgreSQL writes claims.
type Claims struct{ claims.OnConflict }

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
