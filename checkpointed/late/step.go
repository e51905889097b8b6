package late

import (
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Step is what is to be fetched next.
type Step struct {
	// Kind is Live or Sweep: what the rows will be delivered as.
	Kind change.Kind
	// Range is what to fetch.
	Range change.Range
	// Rows is how many rows are to be read at a time at least: most of them were delivered, and are left out.
	Rows int
	// Idle says that there is nothing to fetch for now: Range is void, and Next answers with a batch without events.
	Idle bool
	// Page, where not nil, is what a fetch of the range has brought already.
	Page *change.Page
	// Leave, where not nil, reports of each event that would be handed out, in order, whether it comes another way: it is
	// left out then, and the position passes it. It is nil in the overlap mode.
	Leave func(*change.Event) bool

	peek    bool
	near    bool
	backlog bool // up to backlog.last
	closed  bool // nothing will be added to it
	ahead   bool // rows that are dated beyond the database's clock

	rose     int           // overlap.rose, when Next returned a page with what is read again
	nextTold change.Cursor // of overlap, when Next returned a page of live rows
	oldest   time.Time     // of recent.oldest, once the page is read
	looked   time.Time     // when the database was looked at before the page, by its clock; zero: it was not
	asked    time.Time     // when Next returned a page of live rows of a mode without a window
}

// leave leaves events out of a batch, and reports whether it did.
func (s *Step) leave(batch *change.Batch) bool {
	if s.Leave == nil {
		return false
	}
	before := len(batch.Events)
	batch.Events = slices.DeleteFunc(batch.Events, func(e change.Event) bool { return s.Leave(&e) })
	return len(batch.Events) < before
}
