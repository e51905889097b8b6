package publisher

import (
	"errors"
	"fmt"
	"github.com/rowrelay/rowrelay/engine/statement"
	"time"
)

// Strategy is how several instances share the work.
type Strategy string

// The strategies.
const (
	Leader      Strategy = "leader"
	Partitioned Strategy = "partitioned"
	SkipLocked  Strategy = "skip_locked"
)

// errLost: a claim of the session does not hold any more, by the database's word.
var errLost = errors.New("a claim of this instance has expired or was taken over")

// errNoMember: whoever has lapsed may have been replaced by another strategy.
var errNoMember = fmt.Errorf("%w: its membership has lapsed", errLost)

// claimsTable are the claims of one outbox. It is safe for use by several goroutines.
type claimsTable struct {
	db     *statement.DB
	syntax claimsSyntax
	place  place
	// strategy is the settings'.
	strategy Strategy
	rows     claimedRows
}

// newClaims returns the claims of an outbox. rows is nil where no row is ever marked as being published under a claim.
func newClaims(db *statement.DB, d claimsSyntax, p place, strategy Strategy, rows claimedRows) *claimsTable {
	return &claimsTable{db: db, syntax: d, place: p, strategy: strategy, rows: rows}
}

// place is where the claims of one outbox stand.
type place struct {
	table  string // the claims table, quoted
	outbox string // what the column outbox says
}

// claim says under whose name shards are claimed, and for how long; the zero value: not at all.
type claim struct {
	owner string
	token uint64
	ttl   time.Duration
}

// shard is what is to be claimed, with what people are told of it.
type shard struct{ name, info string }

// named are shards without a word about them.
func named(names []string) []shard {
	list := make([]shard, len(names))
	for i, name := range names {
		list[i].name = name
	}
	return list
}
