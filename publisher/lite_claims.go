package publisher

import "github.com/rowrelay/rowrelay/engine/statement"

// liteClaims is how SQLite writes claims.
type liteClaims struct{}

func (liteClaims) draw(p place) []step { return onConflictDraw(p) }

func (liteClaims) take(p place, c claim, shards []shard, _ string) ([]step, bool) {
	return []step{{shows: true, write: func(s *statement.Statement) {
		onConflictTake(s, p, c, shards, " WHERE true") // without it ON would belong to the SELECT
	}}}, false
}

func (liteClaims) put(p place, c claim, what shard) []step { return onConflictPut(p, c, what) }

func (liteClaims) met(error) bool { return false }

func (liteClaims) inTx() bool { return false }

// late: SQLite is a library, where what has failed cannot take effect any more.
func (liteClaims) late() bool { return false }

func (liteClaims) byName(s *statement.Statement, p place, verb string, set func() string, names []string) {
	byNameList(s, p, verb, set, names)
}

func (liteClaims) ddl(claims statement.Name) string {
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
