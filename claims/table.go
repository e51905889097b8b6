package claims

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
	rows     claimedRows
}

// New returns the claims of an outbox. rows is nil where no row is ever marked as being published under a claim.
func New(db *statement.DB, d Syntax, p Place, strategy Strategy, rows claimedRows) *Table {
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
	Ttl   time.Duration
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
