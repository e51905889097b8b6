package late

import (
	"context"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// Tracker finds the rows that became visible before the position. It belongs to the feed and
// outlives sessions: it keeps the memory that it last read or stored, so that a process reads it once. It decides what
// is fetched next, drops what was delivered before, and says what a commit has to store. It asks the database for its
// clock, and fetches and writes nothing itself. One session uses it like this:
//
//	adopt                                                              at Open, and after each state.MovedError
//	step := next(ctx); page := Fetch(step.Range); fetched(step, page)  in Next
//	settled for each batch; c := commit(…); put c.Object, Lease.Commit; stored     in Settle, and in Close under a lease
//
// In the modes none and settle, and in exact while nothing is delivered early, it passes pages and positions on without
// an allocation.
//
// # Overlap: what is promised, and why
//
// Let N be a position that live rows had reached at the moment S, by the database's clock. The assumption, which
// source__late_window names, is that no row with a position up to N becomes visible later than S + window: whoever drew
// such a value drew it before S, and ends its transaction in that time. So a read begun after S + window shows all that
// there will ever be up to N. Where the server shows open write transactions (Horizon.Shown), that read also waits for
// those that began before S, however long they take. A second is added to S, for cursors that hold whole seconds. A
// value assigned below what was visible a whole window ago (a restored row, an application's clock that is slow by more
// than that) is outside the promise: nothing but reading everything would find it.
//
// The stored checkpoint is the low edge L. It moves to N only when a read of the rows after L up to N is complete that
// was begun after S + window and after that look at the open transactions (this order matters: one that ends between
// the two is read), and when every event that was handed out before the end of the read is settled. Then each row up to
// N is settled, because the read met it and it was remembered as settled, or it was in flight then, or the read handed
// it out.
//
// A crash at any point costs the duplicates of what was settled since the last store, and never a loss. Rows after the
// stored frontier are live rows; those between L and the frontier that the stored memory does not hold are found by the
// next sweep, which reads all of them. The memory holds nothing that is not settled. An event handed out and not
// settled is in the in-flight set, so that a sweep beside it does not hand it out again; the set ends with its session,
// and the next session meets the event again. What was settled and not stored is not trusted by a later session, even
// of this process: the parked entry that settled it may not have been stored either.
//
// The memory holds one 64-bit hash for each version (key, cursor, row) above the low edge, but for those that need
// none (below): the beginning of the event's ID. A version that a complete sweep did not meet is not there any more,
// and is forgotten: so a hot row takes one place and not one for each version, and a row that becomes again what it
// was is delivered again. To forget too much costs a duplicate. Two chances remain to remember too much: a row that
// changes and is back, with its content and cursor, between two sweeps (1 to 5 s while a tick lasts, a whole interval
// of the timer otherwise), and a collision (1 in 2·10¹³ for each new row, beside a million).
//
// # Overlap: rows that need no memory
//
// Some sources tell which transaction wrote a version of a row (Event.Writer), and with each page a number below which
// every transaction had ended before the page was read (Page.Ended): what they wrote in the page's range is in the
// page, and nothing more of theirs will ever be. Let B be the number of the page that was read first when there was
// nothing between the low edge L and the frontier F. Each page of live rows since then was read later. So every
// version between L and F that was written below B came with one of them, and was handed out, whatever becomes visible
// there later. Such a version is not remembered; a sweep leaves it out. B is one number for all of (L, F]: as F grows
// by live pages, which are read later than the one that B is of, and as L rises, this stays true.
//
// A sweep reads all of (L, F], and live pages read beyond F meanwhile. So at its end B may rise to the number that was
// known before it began: what was written below that is left out by the old B, or was met. What it met was remembered,
// in flight, or is handed out by it; so B rises only when all is settled that was handed out before its end. From then
// on the next sweep leaves these versions out as well, does not meet them, and forgets them.
//
// F in the document is how far live rows are settled, and B in the document is one that has risen: so a later session
// finds each version below F and written below B settled, and those beyond F are live rows again. What was settled and
// is not remembered is stored at once, with F: a crash costs the batches in flight, and what the stored memory lacks.
//
// Numbers mean something in one history of one server only (Page.Numbers). A page of another one, or of none, ends what
// is known: B is void, and rows between L and F that are not remembered come again. So it is where L goes back. What a
// source must see to: that a version becomes visible in no other way than by its transaction's commit; that no number
// below Ended is given again; and that a writer whose number is not known for certain is told too high, or as 0. A live
// row is never dropped by its writer's number, and one that is dated ahead is always remembered.
//
// # Overlap: order
//
// Where several rows share an order key (Source.Ordered), one that commits late must not arrive after one that was
// written when it had been committed. The later transaction draws the larger value, so a page that is read in one
// snapshot and begins before both has both, in their order, or the earlier alone. Therefore a page of live rows begins
// at the order edge X: the rows between X and F are read in the snapshot of the page (Range.Known), and what is new
// among them is handed out before it.
//
// X is a position that live rows had reached before the oldest transaction began that the last page may not have shown.
// Whoever was open at the look before that page is told of by this look, or began after it; and who begins after a
// position was reached draws values beyond it. So X rises only by the look before the last page, never by a later one:
// a transaction may have ended between the page and that. Where open transactions are not shown X is L.
//
// A source that lets one transaction write at a time may tell what each page was read in (Page.State). Where nothing
// was committed since a page that was taken, the rows between X and F need not be read again. Whoever was open when a
// page was read has ended when the count of commits has moved twice since: SQLite's may move once before a commit. So X
// rises there as well, by the look before that page, and a while earlier: writers wait for each other with values that
// they have drawn.
//
// Beyond X no sweep may read: its pages are of several snapshots. A sweep ends at X, and its last leg is the late part
// of the next page of live rows. Below X it finds what breaks the assumption, in no order. A session that begins where
// another process, or one that did not settle all, has ended begins at L.
//
// Where no order has to be kept, the rows between X and F are read for their own sake after a page of live rows, so
// that late ones arrive at the pace of these (near); where open transactions are not shown, the rows of a second. Such
// a read proves nothing: sweeps read all, and X may begin at F. In a backlog one is made once, as soon as all have
// ended who began before its last row was there; from then on X goes with live rows up to that row. Where the cursor is
// a time, that read leaves out what is older than the window.
//
// Where rows tell who wrote them, both kinds of reads leave out what was written below B', the number of the last such
// read: that one, or a live page since, has shown it. No sweep may, because it would forget what it does not meet.
//
// # Overlap: a full memory
//
// When the memory is full, live rows are held back until the low edge moves, or B rises. What a backlog holds beyond
// that needs no memory: let R be the last row at a moment S. Once the low edge has moved by a mark that was made after
// S up to where live rows have come, nothing will become visible up to R (the assumption, with R for N); so the low
// edge goes with live rows up to R. A backlog whose writers are not known waits for one window, whatever its size.
// Neither a server that shows no older transaction nor rows with old timestamps are a reason to be faster: a value can
// be drawn long before its transaction shows itself (an application's, a sequence's, that of a statement that waits for
// a lock), and a timestamp without a zone may seem hours older than it is.
type Tracker struct {
	Config

	mu   sync.Mutex // next and fetched may run while settled, commit and stored do
	mode Mode

	dates *Dates // of the source's positions; nil where they are no times

	overlap
	peek
	recent  recent
	near    near
	order   ordered
	backlog backlog
	future  future

	remembered *hashSet        // the memory
	inFlight   *hashSet        // handed out and not settled, of this session; stamped: ahead of the database's clock
	foreknown  bool            // see mayKnow
	object     state.ObjectRef // what the memory was last read from or stored as
	journal    journal         // what was added since
	added      bool            // the memory has what no stored object has
	changes    int             // of what a commit stores
	basis      basis           // what the document says, as far as this process knows
	saveEvery  time.Duration   // how often a commit stores the memory, while the lease is held
	saved      time.Time

	clock     databaseClock
	foretold  databaseClock // the document's reading, until one of this process is held against it
	kept      keptClock     // the same, as the document has it
	storeLead time.Duration // how far the store's clock is ahead of ours
	found     int           // settled events of Sweep batches
	warnings  []string
}

// Config says how late commits are found.
type Config struct {
	// Address is how commands name the document.
	Address string
	// Database is asked for its clock.
	Database interface {
		Horizon(ctx context.Context) (change.Horizon, error)
	}
	// Window is source__late_window, Limit source__late_limit, Memory source__late_memory.
	Window, Limit time.Duration
	Memory        int
	// Future is source__future_rows; empty is deliver.
	Future FutureRows
	// Wait declines early delivery: source__on_long_transaction=wait.
	Wait bool
}

// future is what is known of rows that are dated beyond the database's clock. They come at the end of a page of live
// rows, which is cut before them. A look reads all of them now and then, and hands out what was not delivered yet, as a
// sweep does. What it met is remembered, under a stamp of its own, until live rows have passed it.
type future struct {
	first change.Cursor // the first of them, as seen last: pages of live rows end there
	// none was seen any more: what is remembered of them is forgotten once this page was held against it
	clear bool
	due   bool          // one was seen that was not delivered
	on    bool          // a look is under way
	at    change.Cursor // it has read up to here
	next  change.Cursor // the first that it met
	rows  int           // that it met and that are remembered, or handed out
	full  bool          // it met more than may be remembered
	began time.Time
	ended time.Time // of the last look
	took  time.Duration
	stamp uint8 // of what the look under way, or else the last one, met
	early bool  // some hashes may have such a stamp
	read  bool  // some hashes may have the stamp loaded
	swept bool  // since the memory was read, its part of the window was met by a sweep, or there was none

	// the last page of live rows was cut where the clock is not known exactly enough: it is read before the next page
	unsure bool

	fellTo  time.Time // the clock fell to this moment, and the position is ahead of it; zero: it is not
	owed    time.Time // the position went back to this moment, which is not stored
	refused error     // what source__future_rows=fail says of the last page
	told    map[string]time.Time
}

// session drops what belongs to one session.
func (f *future) session() { f.on, f.due, f.unsure, f.refused = false, true, false, nil }

// tellEvery is how often what lasts is told again.
const tellEvery = time.Hour

// keptClock is a reading of the database's clock as the document keeps it: at is when it was made, by the store's
// clock.
type keptClock struct{ now, at time.Time }

// basis is what a document says of the position.
type basis struct {
	late   state.Late
	cursor change.Cursor
}

// peek is what the exact mode knows of the rows above the safe point. They are shown with Range.Unsafe, at a slow pace,
// and not delivered: somebody may still commit a row between them. A key that was there at each look for longer than
// LateLimit is delivered early, as it was seen last, and remembered, so that it is not delivered again when the safe
// point has passed it. So a hot row under overlapping writers, which may never be below the safe point, is delivered
// about once in each LateLimit.
type peek struct {
	safe     change.Cursor // the safe point of the last live page; nil where no row can be above it
	on       bool
	at       change.Cursor
	began    time.Time
	cut      bool                 // live rows were drained up to safe when it began
	lookedUp time.Time            // when the last one ended
	seen     map[uint64]time.Time // keys above the safe point, and since when they are held back; zero: not
	fresh    map[uint64]time.Time // what the present look has met
	oldest   time.Time            // the first of those that are held back
	by       string               // the oldest open transaction

	overtook   bool // what the last look did not meet was passed by live rows of the first overtakers batches
	overtakers int
	met        uint8     // the stamp of that look
	ahead      time.Time // since when the position is ahead of the stored one without an event between; zero: it is not
	counts     bool      // it has to be stored although no event was between: Page.Counts
	written    time.Time // when the stored one was written, by our clock: a process may live for one tick only

	seed maphash.Seed
}

// session drops what belongs to one session. What was seen is kept: a key's time goes on between ticks.
func (p *peek) session() { p.on, p.fresh, p.overtook, p.counts = false, nil, false, false }

// overtaken gives up a look when live rows came in between: what it shows above the safe point that it began at may
// have been handed out as live by now.
func (p *peek) overtaken(now time.Time) {
	if p.on {
		maps.Copy(p.seen, p.fresh)
		p.on, p.fresh, p.lookedUp = false, nil, now
	}
}

// peekAlone is how long a look goes on page by page before live rows take turns with it.
const peekAlone = time.Second

// journal holds what was remembered since the object of the memory was stored, in the order in which it was. A commit
// stores it, so that a batch that is settled need not write the whole memory: the newest in the document, and what that
// does not take in objects of their own, its pages.
type journal struct {
	hashes []uint64 // what the pages have comes first
	pages  []page
	noted  int // how many of them were stored
	forgot int // hashSet.forgotten of the stored memory
	at     time.Time
}

// page is an object that has the next so many hashes of a journal.
type page struct {
	name  string
	holds int
}

// paged is how many hashes the pages have.
func (j *journal) paged() (n int) {
	for i := range j.pages {
		n += j.pages[i].holds
	}
	return n
}

// warn keeps a warning for the report.
func (l *Tracker) warn(text string) { l.warnings = append(l.warnings, text) }

// handOut puts a batch in flight; ahead says that its events are dated beyond the database's clock.
func (l *Tracker) handOut(batch *change.Batch, ahead bool) {
	if len(batch.Events) == 0 {
		return
	}
	l.handed++
	if l.backlog.closed {
		l.backlog.final = l.handed
	}
	if !l.remembers(batch, l.handed) {
		return
	}
	stamp := uint8(0)
	if ahead {
		stamp, l.foreknown = 1, true
	}
	for i := range batch.Events {
		if ahead || !l.known.covers(&batch.Events[i]) {
			l.inFlight.add(memoryHash(batch.Events[i].Known()), stamp)
		}
	}
}

// unknown returns the events that are neither remembered nor in flight. Those that are get the stamp.
func (l *Tracker) unknown(events []change.Event, stamp uint8) []change.Event {
	kept := events[:0]
	for i := range events {
		h := memoryHash(events[i].Known())
		if l.remembered.see(h, stamp) {
			continue
		}
		if l.inFlight.has(h) {
			continue
		}
		kept = append(kept, events[i])
	}
	return kept
}

// mayKnow reports whether some of these live rows may be remembered, or in flight. In overlap mode they lie beyond all
// that was handed out, but for what was dated ahead, or read from the store, or is beyond a position that went back
// (foreknown, until nothing is left of it), and for a row that a later write, which is not told, has given another
// position (Event.Write). Not to ask saves a backlog a miss of the cache for each row.
func (l *Tracker) mayKnow(events []change.Event) bool {
	if l.remembered.len()+l.inFlight.len() == 0 {
		l.foreknown = false
		return false
	}
	for i := range events {
		if events[i].Write != "" {
			return true
		}
	}
	return l.foreknown || l.mode != Overlap
}

// remembers reports whether the events of a session's nth batch are remembered once they are settled.
func (l *Tracker) remembers(batch *change.Batch, n int) bool {
	return !l.backlog.has(n) && (l.mode == Overlap || batch.Kind == change.Sweep)
}
