package late

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/state"
)

// saidWithin is how long a backlog waits for the server to say which transactions have ended for good: it knows that
// once its log is on the disk, and that of the first page of a process seldom is where others write all the time.
// saidEvery is how often it is asked.
const (
	saidWithin = time.Second
	saidEvery  = 10 * time.Millisecond
)

// awaits reports whether a page is to be read again, because it does not say yet which transactions have ended. It
// would be the first after the low edge, and all rows of the backlog would be remembered until a sweep has read them.
func (l *Tracker) awaits(page *change.Page) bool {
	if l.mode != Overlap || !page.More || page.Numbers == "" || page.Ended > 0 || !l.low.Equal(l.reached) {
		return false
	}
	if l.unsaid.IsZero() {
		l.unsaid = time.Now()
	}
	l.untaken = time.Since(l.unsaid) < saidWithin
	return l.untaken
}

// pause waits before a page that was not taken is read again.
func (l *Tracker) pause(ctx context.Context) {
	l.mu.Lock()
	untaken := l.untaken
	l.untaken = false
	l.mu.Unlock()
	if untaken {
		_ = clock.Sleep(ctx, saidEvery) // the read fails where ctx has ended
	}
}

// meet holds what a page says of writers against what is known; opens says that there is nothing yet between the low
// edge and the frontier. It returns false for a page of a sweep that is worth nothing: rows may be left out of it, or
// of those before it, by numbers that mean other transactions here.
func (l *Tracker) meet(page *change.Page, opens bool) bool {
	if l.mode != Overlap {
		return true
	}
	says := bound{page.Numbers, page.Ended}
	if says.of == "" {
		says = bound{}
	}
	sound := true
	if says.of != l.known.of {
		if l.known.below > 0 {
			l.unmark()
			l.sweep.on, l.near.on, sound = false, false, false
		}
		l.recent.met = bound{}
		l.known, l.rises = bound{of: says.of}, bound{}
	}
	if opens {
		l.known = says
	}
	if l.said = says; says.of != l.sweep.says.of {
		l.sweep.says = bound{}
	}
	return sound
}

// sinceEdge is Range.Since of a read that begins at the order edge or beyond, and is no part of a sweep: that has to
// meet what is remembered.
func (l *Tracker) sinceEdge() uint64 {
	if l.recent.met.of != l.known.of {
		return l.known.below
	}
	return max(l.known.below, l.recent.met.below)
}

// unpassed returns the events of a sweep that are not known to be settled or in flight by who wrote them.
func (l *Tracker) unpassed(events []change.Event) []change.Event {
	if l.known.below == 0 {
		return events
	}
	kept := events[:0]
	for i := range events {
		if !l.known.covers(&events[i]) {
			kept = append(kept, events[i])
		}
	}
	return kept
}

// rise takes over what a sweep has shown, once all is settled that was handed out before its end.
func (l *Tracker) rise() {
	if l.rises.below > l.known.below && l.done >= l.risesAt {
		l.known, l.rises = l.rises, bound{}
		l.changes++
	}
}

// stored is the bound as the document keeps it, for the rows between these positions.
func (b *bound) stored(low, front change.Cursor) state.Known {
	if b.below == 0 {
		return state.Known{}
	}
	return state.Known{Numbers: b.of, Below: b.below, Of: edges(low, front)}
}

// recalled is the bound that a document keeps; none where another binary has moved the positions since.
func recalled(doc *state.Document) bound {
	k := &doc.Late.Known
	if k.Below == 0 || !areEdges(k.Of, doc) {
		return bound{}
	}
	return bound{k.Numbers, k.Below}
}

// edges identifies two positions.
func edges(low, front change.Cursor) string {
	sum := sha256.Sum256([]byte(low.String() + " " + front.String()))
	return hex.EncodeToString(sum[:8])
}

// areEdges reports whether a member of the document is of the positions that the document has. A position within a
// window once had a blank after each comma there, which no document keeps: members that were written so are known, too.
func areEdges(of string, doc *state.Document) bool {
	low, front := doc.Checkpoint.Cursor, doc.Late.Frontier
	return of == edges(low, front) || slices.Contains([]string{edges(low, blanked(front)), edges(blanked(low), front),
		edges(blanked(low), blanked(front))}, of)
}

// blanked is a position as it was once written within a window.
func blanked(at change.Cursor) change.Cursor {
	before, window, within := bytes.Cut(at, []byte(`,"window":[`))
	if !within {
		return at
	}
	return slices.Concat(before, []byte(`,"window":[`), bytes.ReplaceAll(window, []byte(","), []byte(", ")))
}

// unmark gives up the mark and all that would have proved it.
func (l *Tracker) unmark() {
	l.markAt, l.since, l.drawn, l.marked = nil, time.Time{}, time.Time{}, time.Time{}
	l.proved, l.sweep.proves = false, false
	l.changes++
}
