package sqltable

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Config says where rows go.
type Config struct {
	Connection engine.Connection
	// Table is the destination's name as settings write it.
	Table string
	// Sender names who writes, in the guard: pollers that write one table need a name each.
	Sender string
	// Connections is how many are used at most.
	Connections int
	// Create makes the guard where it is not there.
	Create bool
}

// Output implements poller.Output. It is safe for concurrent use. Its owner closes it.
type Output struct {
	words
	cfg          Config
	db           *sql.DB
	parts        []string
	table, guard statement.Name
	scope        string // of the guard's rows: the sender and its table

	// entered is the last token that the guard was seen to know (enter). It is no business of mu, which is held while
	// the catalog waits for a connection.
	entered atomic.Uint64

	mu      sync.Mutex
	known   *engine.Table // nil until the catalog was read
	knownAt time.Time     // when it was read
	guarded bool          // the guard was made
	merging string        // the column for which a key was refused (stopped)
}

// Lack is what a destination lacks: only a person can mend it.
type Lack string

// row is an event's values, in the order of names.
type row struct {
	key, names []string
	values     []any
	params     []string // with %s for the placeholder
	remove     bool
}

// maxParams is how many values a statement holds at most: SQL Server takes 2,100.
const maxParams = 2000

// errLate says that a later request wrote the key.
var errLate = errors.New("a later request has written its key: this one is late, or the state document was deleted " +
	"(then delete the poller's rows from " + guardTable + ")")

// typeOf is a column's type in lower case, that of its values where it is a domain.
func typeOf(c *engine.Column) string {
	if c.Base != "" {
		return strings.ToLower(c.Base)
	}
	return strings.ToLower(c.Type)
}

// guardTable is the guard's name. It lies in the schema of the destination.
const guardTable = "rowrelay_applied"

// words is what is different on one engine.
type words struct {
	syntax statement.Syntax
	create func(guard string) string
	// upsert writes the rows that values adds, each in parentheses, in the order of names. A row that is there gets the
	// values of others, and stays as it is where there are none.
	upsert func(st *statement.Statement, table string, key, others []string, values func(*statement.Statement),
		names []string) *statement.Statement
	// exact makes the type of a text column one that compares byte by byte; nil where every text does.
	exact func(typ string) string
	// alter is how a column gets a collation that compares byte by byte.
	alter     func(table, column, typ string) string
	isolation *sql.TxOptions
	single    bool   // one connection writes at a time
	anyUnique bool   // an upsert goes by every unique index
	anyTime   bool   // a column of times takes any text
	floatText bool   // a float is a text for the driver
	fraction  int    // digits of seconds where a type does not say how many
	single32  string // the type of floats of 32 bits
	// stored makes of a value what the column stores, or says that it cannot; nil where the database says so.
	stored    func(t *engine.Table, c *engine.Column, raw json.RawMessage, v any) (any, error)
	noCasts   bool
	ticks     bool // there are times that hold no digits of seconds but ticks, or minutes
	padded    bool // blanks at the end of a text are not compared, whatever the collation
	returning bool // an upsert can return rows; then the guard has a column previous
	// text is how a parameter of a text is written, as param says it; nil is the placeholder.
	text func(c *engine.Column, v any, key bool) string
	// collate stands after a parameter that is compared with the guard's id, so that the two are of one collation.
	collate string
	bytes   string // how a parameter of bytes is written, with %s for the placeholder; "" is the placeholder
}

// rowFault is a row that has no form in the table.
type rowFault struct{ error }
