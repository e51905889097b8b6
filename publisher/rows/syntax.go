package rows

import (
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Syntax is how an engine writes what depends on the columns and indexes of a table of `rowrelay outbox init`.
type Syntax interface {
	// Seq names the column of the position: MySQL allows no second counting column beside the id, so there it is id.
	Seq() string
	// Same is that two aggregates, given as expressions of type and id, are one, byte by byte. The first one's are
	// columns of an outbox: an index over them can serve it.
	Same(typ1, id1, typ2, id2 string) string
	// Update is UPDATE table AS alias with a join: of rows of `from`, where `where`.
	Update(table, alias, set, from, where string) string
	// BySeq begins an UPDATE of rows of the outbox o by their numbers, up to conditions in WHERE. It looks at no
	// other row.
	BySeq(s *statement.Statement, table statement.Name, set func() string, seqs []int64)
	// Seek is a condition that makes the index of blocked rows serve a search for an aggregate; "" where the columns
	// do.
	Seek(b, id string) string
	// Force stands after a table's alias and names the index to be used ("pending" or "blocked") where the engine's
	// own choice is not to be relied on.
	Force(index string) string
	// ByState says that the index of pending events leads with the state, so that it serves every state.
	ByState() bool
	// Orderly is the condition that (bucket, seq) of an alias comes after two expressions,
	// where the bucket is known not to be smaller; "" where the engine does not seek by it.
	Orderly(alias, bucket, seq string) string
	// Ago is the database's clock less a duration, in whole seconds, rounded up.
	Ago(s *statement.Statement, d time.Duration) string
	// Ddl returns the statements that create the outbox, with the one that creates the claims table in its place.
	// states are the words of the column state, blocked those of the events which others wait for, or which wait.
	Ddl(table statement.Name, claims, states, blocked string) []string
}
