// Package peers has Go libraries that do a part of Rowrelay's job: an application writes messages into a table of
// theirs, in its own transaction, and they hand them to a function that publishes them. Each is laid out as its
// documentation says.
package peers

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Message is what an application writes.
type Message struct {
	Aggregate string // what it belongs to
	Payload   []byte // JSON
}

// Send publishes one message. It returns nil when the destination has it.
type Send func(ctx context.Context, payload []byte) error

// Peer is one library.
type Peer struct {
	Name string
	// Order is the one in which it publishes.
	Order string
	// Init makes its tables.
	Init func(ctx context.Context, db *pgxpool.Pool) error
	// Insert writes a message in the application's transaction.
	Insert func(ctx context.Context, tx pgx.Tx, m Message) error
	// Relay publishes what was committed until ctx ends, and looks for more every poll.
	Relay func(ctx context.Context, db *pgxpool.Pool, poll time.Duration, send Send) error
}

const (
	oneAfterTheOther = "one after the other"
	none             = "none"
)

// All are the libraries, in the order in which they are shown.
func All() []Peer {
	return []Peer{Oagudo(), Watermill(), River(1), River(8)}
}

// page is how many messages a library reads at once, where it can be set.
const page = 500

func run(ctx context.Context, db *pgxpool.Pool, statements ...string) error {
	for _, s := range statements {
		if _, err := db.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
