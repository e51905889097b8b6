// Package claims says which instance may work on what, where several share one outbox. It knows nothing of the rows
// that are shared.
//
// # The claims table
//
// What is claimed are partitions: ranges of the buckets that aggregates are spread over. A claim is a row (outbox,
// unit, owner, token, expires_at, info), by the database's clock; the column unit names the partition. An owner holds
// a partition while the partition's row names it and lives. The claims of an owner whose process is known to have died
// (package alive) count as expired after a grace, and are removed by the next one that takes some. A strategy decides
// which partitions an owner takes and when it gives them back. All strategies claim the same partitions, so they
// exclude each other.
//
// # Tokens
//
// Every taking draws a fencing token that is larger than every token drawn before for this outbox. Whoever changes
// shared rows does so in one statement with [Table.Guard], or after [Table.Hold] in a transaction: both refuse an owner
// whose claims do not hold any more.
//
// # The number of partitions
//
// It is stored with the token's counter, and changes only while nothing is claimed and no member is live: see
// [Table.Take].
package claims

import (
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Strategy is how several instances share the partitions.
type Strategy string

// The strategies.
const (
	Leader      Strategy = "leader"      // one has all of them
	Partitioned Strategy = "partitioned" // each has its share
	SkipLocked  Strategy = "skip_locked" // each takes some that are free and have work, for one batch
)

// ErrLost is the error where a claim of the owner does not hold any more, by the database's word.
var ErrLost = errors.New("a claim of this instance has expired or was taken over")

// Table are the claims of one outbox. It is safe for use by several goroutines.
type Table struct {
	db         *statement.DB
	syntax     Syntax
	Place      Place
	partitions int
	alive      alive.Marker
}

// New returns the claims of an outbox that the settings divide into so many partitions. m knows of owners that have
// died; nil: their claims expire.
func New(db *statement.DB, d Syntax, p Place, partitions int, m alive.Marker) *Table {
	return &Table{db: db, syntax: d, Place: p, partitions: partitions, alive: m}
}

// Place is where the claims of one outbox stand.
type Place struct {
	Table  string // the claims table, quoted
	Outbox string // what the column outbox says
}

// Claim says under whose name something is claimed, and for how long.
type Claim struct {
	Owner string
	Token uint64
	TTL   time.Duration
}
