package late

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Mode is a way to find rows that became visible after the position had passed them.
type Mode string

// The values of source__late_commits, but for auto.
const (
	// Exact: the database shows a safe point, and rows above it are not fetched, or are fetched by snapshot windows.
	Exact Mode = "exact"
	// Overlap: rows are delivered at once and remembered; the last window is read again and again.
	Overlap Mode = "overlap"
	// Settle: rows are not fetched before they are older than the window.
	Settle Mode = "settle"
	// None: a row that commits late is lost.
	None Mode = "none"
)

// Source is what the rows come from.
type Source struct {
	Mode  Mode
	Dates *Dates // of its positions; nil where they are no times
	// Ordered says that Range.Known is understood, and that rows which share an order key are to be kept in the order of
	// their writes in the overlap mode.
	Ordered bool
}

// What overlap does to an order key that several rows share, and the ways out: for people.
const (
	Unordered = "a row that commits late is found seconds later, so it may arrive after a row of its order key that was " +
		"written after it"
	OrderMend = "use a cursor for source__late_commits=exact (rowrelay check --ddl), or settle, or remove source__order_key " +
		"if the order of each row is enough"
)

// Dates reads positions as times, where the cursor's first column is one.
type Dates struct {
	// Span is the first and the last moment at which a clock shows the value of a position that a row gave: a wall clock
	// that is put back in autumn shows an hour twice. It is false for what is no time, and for a position that no row
	// gave.
	Span func(change.Cursor) (first, last time.Time, ok bool)
	// Before is a position that comes before every row that is written at a moment or later. It is nil where the form of
	// the column's values is not known.
	Before func(time.Time) change.Cursor
	// Slack is how far values may be ahead of the clock because their zone is not known.
	Slack time.Duration
}

// FutureRows is source__future_rows: what becomes of rows whose cursor is a time that the database's clock has not
// reached. Whatever it says, the position does not pass them before the clock does: rows that are written until then
// have lower cursors.
type FutureRows string
