package late

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
