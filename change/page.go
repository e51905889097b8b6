package change

// Range is what a fetch reads.
type Range struct {
	// After is the position that rows come after; empty for the beginning.
	After Cursor
	// UpTo ends the range with the row at this position, itself included; empty for no end. Positions that the source made
	// for events in other modes than the snapshot window.
	UpTo Cursor
	// Unsafe also shows rows that are held back (source__late_commits=exact and settle), and reports no Page.Safe.
	Unsafe bool
	// Late says that rows may have become visible after the position had passed them, but none up to Told: they were all
	// delivered.
	Late bool
	Told Cursor
	// Since lets the source leave out rows whose Writer it knows and that is below this number; 0 for none. It counts what
	// the Numbers of the pages before said. Where Known is set it is about the rows since Again only.
	Since uint64
	// Known, where it is set, asks for the rows between Again, a position at or before After, and After as well, in the
	// same snapshot (see Page.Again). It reports whether an event was handed out before; numbers is the Page.Numbers that
	// its Writer counts by. Only sources whose rows are told in order (Description.Ordered) are asked so.
	Known func(e *Event, numbers string) bool
	Again Cursor
	// Same, where it is set beside Known, reports whether all that a state shows since Again was read before: the source
	// need not read it, and Page.Again is empty then.
	Same func(State) bool
}

// State is what one snapshot shows, where the source can tell that from another. The zero value says nothing.
type State struct {
	// Counter is what Commits is read from, not 0: of two of them nothing can be compared. One transaction writes at a
	// time where there is a counter.
	Counter uint64
	// Commits is equal in two snapshots only if nothing was committed in between. It may move once before a transaction
	// ends that writes, and moves with each that is committed.
	Commits int64
}

// Page is what one fetch brought.
type Page struct {
	Events []Event
	// More says that the fetch stopped at a limit.
	More bool
	// Again are the rows since Range.Again that were not known. They come before Events, which lie after Range.After. With
	// AgainMore there are more of them than the limit, and nothing else was read.
	Again     []Event
	AgainMore bool
	// State is the snapshot that a page with rows since Range.Again was read in.
	State State
	// To is the position after the page where that is not the last event's (a window closed, or rows were left out, also
	// without events); nil otherwise.
	To Cursor
	// Counts says that To has to be stored although no event may come with it: what is told later of a row that was left
	// out depends on it (an update of a row is none as long as its insert comes after the stored position).
	Counts bool
	// Numbers says what Ended and the events' Writer count: they are compared only where it is equal. Pages of equal
	// Numbers come from one history of one server, and each sees what those before it saw. "" where rows do not tell who
	// wrote them.
	Numbers string
	// Ended says that every transaction below this number had ended, for good, before the page was read: what it wrote in
	// the page's range was there to be read. 0 where that is not known.
	Ended uint64
	// Safe is the safe point below which the page stayed: the position after the last row that may be shown. Nil where
	// the source keeps none, and where no row can be above it.
	Safe Cursor
	// Incarnation identifies the life of the database that answered (a restore or failover begins a new one); "" where
	// the engine has none.
	Incarnation string
	// Table identifies the table itself: one that was made anew under the same name has another. "" where it is not
	// known.
	Table string
	// Warnings are for the operator: NULL cursors, and the like. Throttled by the source.
	Warnings []string
	// NullCursors is the number of rows whose cursor is NULL, counted by a throttled probe; -1 when it was not counted.
	NullCursors int64
}

// End is the position after the page; nil where it is that before it.
func (p *Page) End() Cursor {
	if n := len(p.Events); p.To == nil && n > 0 {
		return p.Events[n-1].Position()
	}
	return p.To
}
