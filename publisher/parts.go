package publisher

import (
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/feed"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// Config is one outbox and how it is published.
type Config struct {
	feed.Config
	// Table is source__table as written; Map is source__map__<role>: role → column, or an option's value. Empty: the
	// table has the columns of `rowrelay outbox init`.
	Table string
	Map   map[string]string
	// ClaimsTable is source__claims_table, created by `rowrelay outbox init`.
	ClaimsTable string
	// Timeout bounds one statement, Connections the pool, MaxRowBytes a payload.
	Timeout     time.Duration
	Connections int
	MaxRowBytes int
	// Retention and CleanupChunk are for Cleanup.
	Retention    time.Duration
	CleanupChunk int
}

// Publisher is one outbox of one poller. It is safe for use by several goroutines.
type Publisher struct {
	catalog *catalog
	feed    *feed.Feed
	owned   *sql.DB // nil: it is shared
}

// catalog opens an outbox as the database's catalog shows it, and remembers that for a while. It is safe for use by
// several goroutines.
type catalog struct {
	cfg   Config
	conn  engine.Connection
	texts texts
	db    *statement.DB
	// outbox and claims are as the settings write them.
	outbox, claims statement.Name

	mu     sync.Mutex
	known  *opened // nil until it was read
	readAt time.Time
	stale  atomic.Bool // a statement failed by what the catalog holds
}

// opened is an outbox, proved against the catalog.
type opened struct {
	feed.Outbox
	events *rows.Table
	// tried says that the database takes what publishing writes.
	tried atomic.Bool
}
