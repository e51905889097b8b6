package late

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
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

const (
	// hidden is how long before the server shows it a transaction may have drawn its first value: it takes its clock
	// first, and MariaDB shows a list that is up to 0.1 s old.
	hidden = 250 * time.Millisecond
	// placesApart is how far apart places are kept, maxPlaces how many.
	placesApart = 50 * time.Millisecond
	maxPlaces   = 4096
)

// adoptRecent begins a session. same says that it goes on where the last one of this process ended, with all settled
// that was handed out.
func (l *Tracker) adoptRecent(ordered, same bool) {
	same = same && l.order.on == ordered && l.reached.Equal(l.recent.last)
	l.order.on, l.order.held = ordered, nil
	l.near.on = false
	if !same {
		l.recent.marked = l.recent.pages
		l.beginRecent()
	}
}

// beginRecent begins anew: the positions were put back, or the clock that is compared with. Where order is to be kept
// everything after the low edge is recent, and otherwise nothing: sweeps find what is open now.
func (l *Tracker) beginRecent() {
	at := place{at: l.reached, page: l.recent.pages}
	if l.order.on {
		at = place{at: l.low, page: -1}
	}
	l.recent = recent{edge: at, last: l.reached, pages: l.recent.pages, marked: l.recent.marked}
	l.order, l.backlog, l.near.on = ordered{on: l.order.on}, backlog{first: l.backlog.first, final: l.backlog.final}, false
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
