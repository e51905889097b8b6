package late

import "time"

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
