// Package claims says which instance may work on what, where several share one outbox. It knows nothing of the rows
// that are shared.
//
// # The claims table
//
// A claim is a row: (outbox, unit, owner, token, expires_at, info), by the database's clock. The column unit names a
// shard: the whole outbox (strategy leader), a partition, that is a range of buckets (partitioned), or one aggregate
// (skip_locked). An owner is a session. It is a member while its member's row lives, and holds a shard while the
// shard's row names it and lives. All claims of an owner end together.
//
// # Tokens
//
// Every taking draws a fencing token that is larger than every token drawn before for this outbox. Whoever changes
// shared rows does so in one statement with [Table.Guard], or after [Table.Hold] in a transaction: both refuse an owner
// whose claims do not hold any more.
//
// # Strategies
//
// Claims of one strategy are none to another. So which strategy, and how many partitions, are in force is stored with
// the token's counter, and changes only while nobody else is a live member and nothing is claimed: see [Table.Survey].
package claims

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Strategy is how several instances share the work.
type Strategy string

// The strategies.
const (
	Leader      Strategy = "leader"
	Partitioned Strategy = "partitioned"
	SkipLocked  Strategy = "skip_locked"
)

// ErrLost is the error where a claim of the session does not hold any more, by the database's word.
var ErrLost = errors.New("a claim of this instance has expired or was taken over")

// errNoMember: whoever has lapsed may have been replaced by another strategy.
var errNoMember = fmt.Errorf("%w: its membership has lapsed", ErrLost)

// Table are the claims of one outbox. It is safe for use by several goroutines.
type Table struct {
	db     *statement.DB
	syntax Syntax
	Place  Place
	// strategy is the settings'.
	strategy Strategy
	rows     Rows
}

// New returns the claims of an outbox. rows is nil where no row is ever marked as being published under a claim.
func New(db *statement.DB, d Syntax, p Place, strategy Strategy, rows Rows) *Table {
	return &Table{db: db, syntax: d, Place: p, strategy: strategy, rows: rows}
}

// Place is where the claims of one outbox stand.
type Place struct {
	Table  string // the claims table, quoted
	Outbox string // what the column outbox says
}

// Claim says under whose name shards are claimed, and for how long; the zero value: not at all.
type Claim struct {
	Owner string
	Token uint64
	TTL   time.Duration
}

// Shard is what is to be claimed, with what people are told of it.
type Shard struct{ Name, Info string }

// Named are shards without a word about them.
func Named(names []string) []Shard {
	list := make([]Shard, len(names))
	for i, name := range names {
		list[i].Name = name
	}
	return list
}
