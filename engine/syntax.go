package engine

import (
	"time"

	"github.com/rowrelay/rowrelay/sqltext"
)

// Syntax says how statements are written on an engine, and what people are told of it.
type Syntax struct {
	// Name is sqlserver, postgres, mysql or sqlite.
	Name string
	// Quote returns name as a quoted identifier: any legal name, whatever it contains.
	Quote func(name string) string
	// Placeholder returns the n-th parameter, n from 1: $1, @p1, ?1, ?.
	Placeholder func(n int) string
	// Clock writes the server's clock in UTC, moved by so many seconds, as a date and time that a column's value.param
	// takes. The server must hold it for one value throughout a statement, so that an index can be used with it.
	Clock func(seconds int) string
	// Positional says that a placeholder cannot be repeated: a value that is used twice is passed twice.
	Positional bool
	// RowValues says that (a, b) > (x, y) is understood and uses an index on (a, b). Otherwise a >= x AND
	// (a > x OR (a = x AND b > y)) is written, which MySQL and MariaDB part into the two ranges by themselves.
	RowValues bool
	// Unites says that the engine seeks by the first comparison of that only, so that a page is written as several seeks
	// united. A placeholder can be repeated there.
	Unites bool
	// Top says that the limit is written SELECT TOP (n) …, not … LIMIT n.
	Top bool
	// SkipLocked is the table's hint that passes over rows that are locked; "" where there is none, or reads wait for no
	// lock.
	SkipLocked string
	// Safe reads the safe point in the page's own round trip, for a cursor that is a row version; nil where there is none.
	Safe *SafePoint
	// StoredTimes says that a value has a type of its own, whatever its column declares (SQLite). A time is whatever text
	// or number is stored, compared as such, every number below every text: source__start is then taken as it is written.
	// A uuid is stored text there, and a decimal an integer or a float.
	StoredTimes bool
	// Text says what the engine takes for quotes and comments, so that a condition or query of the user is known to
	// end where it should.
	Text sqltext.Syntax
	// Words is how a statement's own text is read, where it is no column's.
	Words Value

	// Step is the resolution of a type's times, as the type says it: two writes within it may have one value. It is not
	// called for dates; 0 where a time is stored as it comes.
	Step func(typ string) time.Duration
	// Rebuilds says that a table's identity changes with every rebuild as well. OnlyRebuilt then reports whether two
	// identities are too close for the table to have been dropped and made again; nil where they never tell.
	Rebuilds    bool
	OnlyRebuilt func(was, is string) bool
	Advice      Advice
	// Tracking is how triggers keep a change table; nil where none do.
	Tracking *Tracking
}

// SafePoint is the lowest row version that an open transaction may have taken.
type SafePoint struct {
	// Before is a statement of its own that stands in front of the page, in the same round trip. It hands out, by the
	// parameter named parameter, what it read; limit is how the page compares with it.
	Before, Parameter, Limit string
}

// Advice is what people are told of an engine: what to do, what to grant, what to write.
type Advice struct {
	// Reach is what to do where no connection comes about.
	Reach string
	// Unopened is what else an error of opening may mean than that the server is not up yet; "" for nothing.
	Unopened func(err error) string
	// Unlock is what lets reads not wait for locks; "" where they never do.
	Unlock string
	// Grant is what shows a user the open transactions of others; "" where nothing does.
	Grant string
	// NotExact is why a table cannot be read exactly by an ordinary cursor.
	NotExact string
	// Flag is what gives a soft delete a column of its own.
	Flag string
	// ExactColumn is the text that makes a cursor for exact reading, with what to set afterwards, for people to read and
	// to run. key names the key's columns. It is nil where the engine has no such column.
	ExactColumn func(t *Table, key []string) string
}

// What two or more engines advise.
const (
	ReachServer = "check host, port and firewall, and the setting that source__connection names"
	FlagByCase  = "write a query with a CASE that gives 0 or 1"
)
