package late

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// overlap is what the overlap mode knows. Positions are compared for equality only.
type overlap struct {
	told     change.Cursor // Range.Told
	nextTold change.Cursor // what told becomes once live rows were read to their end
	edge     change.Cursor // the low edge in the document
	rose     int           // how often the low edge rose to the mark
	low      change.Cursor // the low edge
	front    change.Cursor // live rows are settled up to here
	reached  change.Cursor // live rows are fetched up to here; also in the other modes

	// The mark: live rows were settled up to markAt at since, by the database's clock. A zero since is no mark.
	markAt change.Cursor
	since  time.Time
	// the last moment at which the database's clock can show the value of markAt; zero where that is no time
	drawn  time.Time
	marked time.Time // when, by our clock, the mark was begun in this process

	sweep   sweep
	proved  bool // the low edge may move to markAt when the first proof batches are settled
	proof   int
	below   uint8         // what the sweep that proved it met up to markAt has this stamp
	handed  int           // batches handed out in this session
	done    int           // and settled
	tail    change.Cursor // where nil is not set: live rows up to here are settled when the first tailOf batches are
	tailOf  int
	drained bool      // the last live page was not full
	rest    bool      // the tick was told that there is nothing more: it begins again with live rows
	liveAt  time.Time // when live rows were looked at last
	sweeps  bool      // it is the sweep's turn

	writers

	looked    time.Time // when the clock was asked last
	replayed  time.Time // how far a replica had come then: Horizon.Replayed
	blind     bool      // it did not answer in this session
	toldBlind bool      // the operator knows; a tick that fails with the database says more, and each begins a session
	heldSince time.Time // since when the memory is full; zero when it is not
	blockedBy string    // the session whose open transaction keeps the low edge, as last seen
}

// sweep is one read of the rows from the low edge to the frontier.
type sweep struct {
	on       bool
	at       change.Cursor // read up to here
	to       change.Cursor // the end of this leg
	last     change.Cursor // the end of the last leg
	first    bool          // this leg ends at the mark
	rest     bool          // what is left comes with the next page of live rows (see ordered)
	proves   bool          // it began after the window had passed: the end of the first leg proves the mark
	from     change.Cursor // the low edge when it began
	told     change.Cursor // Range.Told
	says     bound         // what was said of writers before its first page
	old, new uint8         // stamps of what the first leg saw; of what the second saw, or was settled since
	began    time.Time
	ended    time.Time     // of the last sweep
	took     time.Duration // by the last sweep
}

// ending reports whether the sweep's last leg is the late part of the next page of live rows.
func (s *sweep) ending() bool { return s.on && s.rest }

// seeing is the stamp for what the present leg of the sweep meets.
func (s *sweep) seeing() uint8 {
	if s.first {
		return s.old
	}
	return s.new
}

// SweepEvery is the wait between two sweeps under a source__late_window.
func SweepEvery(window time.Duration) time.Duration {
	return min(max(window/24, time.Second), 5*time.Second)
}

// resolution is the coarsest that a time cursor may be for overlap to hold: within it a later row may have a lower
// position, by its key.
const resolution = time.Second

// near looks for rows that commit late soon after live rows were read to their end, where no order has to be kept: a
// read of what lies between the edge of the recent rows and the position. It proves nothing; sweeps do.
type near struct {
	on     bool
	alone  bool          // no live rows come in between
	after  int           // live pages that were taken before the last one began
	at     change.Cursor // read up to here
	to     change.Cursor // its end
	oldest time.Time     // of recent.oldest, once it is read
	says   bound         // of recent.met, once it is read
	began  time.Time
	ended  time.Time     // of the last one
	took   time.Duration // by the last one
}

// ordered keeps rows that share an order key in the order of their writes: see "Overlap: order" in the Tracker's
// comment.
type ordered struct {
	on    bool
	held  *Step // a page of which the late rows were handed out, and the live ones are to come
	shown map[uint64]shown
}

// shown is what the last page from the order edge on has shown of a database that counts commits, by a counter.
type shown struct {
	commits int64
	at      time.Time // of a look before the page; zero: there was none
	moved   time.Time // of the last look before the counter moved the last time; zero: it did not
}

const (
	// hidden is how long before the server shows it a transaction may have drawn its first value: it takes its clock
	// first, and MariaDB shows a list that is up to 0.1 s old.
	hidden = 250 * time.Millisecond
	// placesApart is how far apart places are kept, maxPlaces how many.
	placesApart = 50 * time.Millisecond
	maxPlaces   = 4096
)

// recent is how far back rows of open transactions can still become visible, where the server shows these: from the
// edge on. See "Overlap: order" in the Tracker's comment.
type recent struct {
	edge   place
	passed []place // beyond it, in their order
	// nobody writes whom the last reading from the edge on did not show and who began before; zero where that is not known
	oldest time.Time
	// what these transactions wrote beyond the edge was handed out: the last reading from the edge on, or a live page,
	// began after they had ended
	met bound

	pages  int           // live pages that were taken
	marked int           // as many, when the mark was begun
	last   change.Cursor // reached by the last of them
}

// place is a position that live rows had reached.
type place struct {
	at   change.Cursor
	page int       // by the page of this number; -1 for the low edge
	seen time.Time // before this moment, by the database's clock
}

// took notes a live page. complete says that nothing will become visible up to its end.
func (r *recent) took(reached change.Cursor, complete bool) {
	r.pages++
	if complete && !reached.Equal(r.last) {
		r.edge, r.passed = place{at: reached, page: r.pages}, nil
	}
	r.last = reached
}

// rise moves the edge with the low edge: what becomes visible below that is outside of the assumption.
func (r *recent) rise(low change.Cursor) {
	for len(r.passed) > 0 && r.passed[0].page < r.marked {
		r.passed = r.passed[1:]
	}
	if r.edge.page < r.marked {
		r.edge = place{at: low, page: -1}
	}
}

// look takes a look at the clock and the open transactions, before a reading: what live rows have reached by now lies
// before whatever a transaction writes that begins from now on.
func (r *recent) look(h *change.Horizon) {
	n := len(r.passed)
	if n == 0 || !r.passed[n-1].at.Equal(r.last) && h.Now.Sub(r.passed[n-1].seen) >= placesApart {
		r.passed = append(r.passed, place{r.last, r.pages, h.Now})
	}
	if n >= maxPlaces { // every second one says nearly as much
		for i := range n / 2 {
			r.passed[i] = r.passed[2*i]
		}
		r.passed = r.passed[:n/2]
	}
	for len(r.passed) > 0 && !r.oldest.IsZero() && !r.passed[0].seen.After(r.oldest) {
		r.edge, r.passed = r.passed[0], r.passed[1:]
	}
}

// before is a moment before which nobody began whose rows a reading does not show that begins after a look; zero where
// the server does not show that.
func before(h *change.Horizon) time.Time {
	switch {
	case !h.Shown:
		return time.Time{}
	case h.Oldest.IsZero():
		return h.Now.Add(-hidden)
	default:
		return h.Oldest.Add(-hidden)
	}
}

// writers is what the overlap mode knows of the transactions that wrote the rows between the low edge and the frontier,
// where the source tells it. See "Rows that need no memory" in the Tracker's comment.
type writers struct {
	said    bound // by the last page: of all transactions below it whatever is read from now on shows everything
	known   bound // what these transactions wrote there is settled or in flight as live rows
	rises   bound // what known becomes when the first risesAt batches are settled
	risesAt int
	unkept  int // events that were settled and are not remembered, since the last commit that was stored

	unsaid  time.Time // when a page did not say which transactions have ended, the first time
	untaken bool      // the last page was not taken for that
}

// bound says of which transactions something is known: those below a number.
type bound struct {
	of    string // Page.Numbers
	below uint64
}

// covers reports whether an event was written by one of these transactions.
func (b *bound) covers(e *change.Event) bool { return e.Writer != 0 && e.Writer < b.below }

// backlog is what is known of the end of a backlog: the row that was the last one at a moment.
type backlog struct {
	more     bool      // the last page of live rows was full
	rows     int       // of the full pages
	over     time.Time // when the last one ended
	last     place     // that row, before the moment seen; page is not said
	complete bool      // whatever may be open began after that moment: rows up to the last one are in order
	// closed says that the window of that moment has passed as well, and that all was read that was late before it:
	// nothing will become visible up to the last row. What live rows bring needs no memory, and the low edge goes with
	// them: with the batches of this session after the first up to the last.
	closed       bool
	first, final int
	// old is how far its rows are older than the window, by their times, where these are read
	old place
}

// backlogRows is how many rows make a backlog: of so many the last one is worth to be asked for. So it is when they
// fill this part of the memory.
const backlogRows, askedAt = 1000, 8

// large reports whether live rows are a backlog.
func (b *backlog) large() bool { return b.more && b.rows >= backlogRows }

// took notes a live page of some rows. more says that rows follow, of the backlog where the page is a part of one.
func (b *backlog) took(rows int, more bool) {
	if b.more, b.rows = more, b.rows+rows; more {
		return
	}
	over := b.over
	if b.rows >= backlogRows {
		over = time.Now()
	}
	*b = backlog{first: b.first, final: b.final, over: over}
}

// has reports whether a batch belongs to the closed part.
func (b *backlog) has(n int) bool { return n > b.first && n <= b.final }
