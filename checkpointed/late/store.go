package late

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Commit is what a commit has to carry.
type Commit struct {
	// Due says that a write is worth it. Where it is false, and nothing else is to be stored, nothing need be written.
	Due bool
	// From is the stored position and To the one after the commit: in overlap mode the low edge before and after.
	From, To change.Cursor
	// Late replaces the member of the document; nil leaves it as it is.
	Late *state.Late
	// Object, where not nil, is put first, under MemoryKind, and its name is given to Named.
	Object []byte

	changes, done, unkept int
	noted, forgotten      int // of the journal
	pages                 []page
	partly                bool      // the object of the memory stays as it is
	whole                 bool      // all of the memory is stored, the journal included
	owed                  time.Time // the fall after which the position that is stored went back
}

// MemoryKind is the kind of the side objects that hold the memory.
const MemoryKind = "memory"

// Named takes the name of the object that was put.
func (c *Commit) Named(name string) {
	if !c.partly {
		c.Late.Memory.Object = name
		return
	}
	last := len(c.pages) - 1
	c.pages[last].name, c.Late.Journal.Pages[last] = name, name
}

// Adopt begins a session on a document: what was handed out before and not settled is forgotten. storeNow is the
// store's clock at this moment, and load reads a side object (Keeper.Object).
// Errors are a *Fault: FingerprintMismatch when the document was written under another mode, and CheckpointLoadFailed
// when the memory cannot be read.
//
// A memory that is missing or damaged is a warning, and the live rows begin again at the low edge: what was delivered
// above it is delivered once more, and nothing is lost.
func (l *Tracker) Adopt(
	ctx context.Context, doc *state.Document, storeNow time.Time, source Source, load Load,
) error {
	mode := source.Mode
	if mode == "" {
		mode = None
	}
	if was := doc.Late.Mode; was != "" && was != string(mode) {
		return &poller.Fault{Event: poller.FingerprintMismatch,
			Err: fmt.Errorf("late_commits was %s, is now %s: what the checkpoint means differs. Set "+
				"source__late_commits to %s, or run `rowrelay state accept-fingerprint %s` to go on at the stored position, or `rowrelay "+
				"state reset %[4]s --to beginning` to start over", was, mode, was, l.Address)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.date(source.Dates)
	whole := l.handed == l.done && l.order.held == nil
	same := l.mode == mode && !l.added && l.basis.is(doc)
	if l.mode != mode {
		l.object = state.ObjectRef{} // a memory of another mode
	}
	l.mode, l.saveEvery, l.saved = mode, saveEvery(doc.Lease.TTL), time.Now()
	l.session()
	l.recall(&doc.Late, doc.Checkpoint.Cursor, storeNow)
	l.edge, l.written = doc.Checkpoint.Cursor, time.Now().Add(-max(0, storeNow.Sub(doc.Checkpoint.UpdatedAt)))
	if same && mode == Overlap {
		// Nobody wrote since: what this process knows beyond the document (its mark, its pace) still holds.
		l.reached = l.front
		l.adoptRecent(source.Ordered, whole)
		return nil
	}
	l.known = recalled(doc)
	l.basis, l.changes = basis{doc.Late, doc.Checkpoint.Cursor}, 0
	l.low, l.front, l.told, l.nextTold = l.edge, l.edge, l.edge, l.edge
	l.markAt, l.since, l.drawn, l.marked = nil, time.Time{}, time.Time{}, time.Time{}
	if mode == Overlap && !doc.Late.Frontier.IsStart() {
		l.front = doc.Late.Frontier
		if !doc.Late.Since.IsZero() && !doc.Late.Next.IsStart() {
			l.markAt, l.since, l.drawn = doc.Late.Next, doc.Late.Since, l.drawnUntil(doc.Late.Next)
		}
	}
	l.reached = l.front
	l.owe()
	l.adoptRecent(source.Ordered && mode == Overlap, false)
	if mode != Overlap && mode != Exact && l.dates == nil {
		return nil
	}
	return l.load(ctx, doc, load)
}

// session drops what belongs to one session.
func (l *Tracker) session() {
	l.inFlight = newHashSet()
	l.rises, l.unkept = bound{}, 0
	l.sweep.on, l.sweep.proves, l.proved, l.tail = false, false, false, nil
	l.handed, l.done, l.found = 0, 0, 0
	l.backlog.first, l.backlog.final = 0, 0
	l.drained, l.rest, l.sweeps, l.blind = false, false, false, false
	l.peek.session()
	l.future.session()
}

// load reads the memory that the document names.
func (l *Tracker) load(ctx context.Context, doc *state.Document, load Load) error {
	ref := doc.Late.Memory
	l.foreknown = true
	if ref.Object != "" && ref == l.object && !l.added && len(l.journal.hashes) == 0 &&
		doc.Late.Journal.IsZero() {
		return nil // what this process holds: it stored or read that object
	}
	l.remembered, l.object, l.added, l.journal = newHashSet(), state.ObjectRef{}, false, journal{}
	set, err := l.remembered, error(nil)
	if ref.Object != "" {
		set, err = loadMemory(ctx, ref.Object, load)
	}
	lacks := errors.Is(err, errMemory) || errors.Is(err, state.ErrNotFound)
	if err == nil {
		l.remembered, l.object = set, ref
		err = l.replay(ctx, doc, load)
	}
	switch {
	case err == nil:
		l.loadedAhead()
		return nil
	case lacks:
		l.warn(fmt.Sprintf("the memory of delivered rows (%s) cannot be used: the rows of the last late_window are delivered "+
			"again, and none is lost: %v", ref.Object, err))
		l.front, l.reached = l.low, l.low
		l.beginRecent()
		l.markAt, l.since, l.drawn, l.marked = nil, time.Time{}, time.Time{}, time.Time{}
		l.changes++
		return nil
	default:
		l.basis = basis{} // the next session asks again
		return &poller.Fault{Event: poller.CheckpointLoadFailed,
			Err: fmt.Errorf("reading the memory of delivered rows: %w", err)}
	}
}

// saveEvery is how often the memory is stored under a lease of this ttl; a document that was never leased names none.
func saveEvery(ttl time.Duration) time.Duration {
	if ttl <= 0 {
		return 10 * time.Second
	}
	return ttl / 3
}

// is reports whether the document still says the same.
func (b *basis) is(doc *state.Document) bool {
	was, is := &b.late, &doc.Late
	return was.Mode != "" && was.Mode == is.Mode && was.Memory == is.Memory && was.Known == is.Known &&
		was.Journal.Equal(&is.Journal) && was.Since.Equal(is.Since) &&
		was.Frontier.Equal(is.Frontier) && was.Next.Equal(is.Next) && b.cursor.Equal(doc.Checkpoint.Cursor)
}

// Commit returns what to store, with From and To of the state.Commit, after the batches that were settled last. final
// says that the lease is released with it, beside that more is stored of these batches: which rows wait for a parked
// one. After a crash a row must not be both among them and unknown: it would be found again, wait as the last one, and
// until the rows after it are found again, too, they would be before it.
func (l *Tracker) Commit(final, beside bool) Commit {
	c, hashes := l.draft(final, beside)
	if hashes != nil {
		c.Object = encodeMemory(hashes) // Next need not wait for it
	}
	return c
}

// draft returns a commit, and the hashes that are to be stored with it.
func (l *Tracker) draft(final, beside bool) (Commit, []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := Commit{From: l.edge, To: l.front, changes: l.changes, done: l.done, unkept: l.unkept, owed: l.future.owed}
	worth := l.basis.late.Mode == "" // the first choice
	switch l.mode {
	case Overlap:
		c.To = l.low
		worth = worth || !l.low.Equal(l.edge)
	default:
		// The reading of the clock goes with the position.
		worth = worth || l.mode == Settle && l.dates != nil && l.changes == 0 && !c.To.Equal(c.From)
	}
	full, note := l.worth(final, worth, beside)
	worth = worth || full || note || l.unkept > 0 // what is not remembered is stored by how far live rows are settled
	c.Due = worth || !c.To.Equal(c.From)
	if !worth {
		return c, nil
	}
	c.partly, c.whole = !full, full || l.settles()
	c.noted, c.forgotten = len(l.journal.hashes), l.remembered.forgotten
	kept := l.keep()
	c.Late = &state.Late{Mode: string(l.mode), Clock: kept.now, ClockAt: kept.at}
	if l.mode == Overlap {
		c.Late.Frontier, c.Late.Next, c.Late.Since = l.front, l.markAt, l.since
		c.Late.Known = l.known.stored(c.To, l.front)
	}
	c.Late.Memory.Count = l.remembered.len()
	if c.partly {
		c.Late.Memory.Object = l.object.Object
		var hashes []uint64
		c.pages, hashes = l.journal.next()
		c.Late.Journal = l.journal.stored(c.pages, c.To, c.Late.Frontier)
		return c, hashes
	}
	if c.Late.Memory.Count == 0 {
		return c, nil
	}
	return c, l.remembered.hashes()
}

// notes reports whether the journal can take what the stored memory lacks.
func (l *Tracker) notes() bool { return l.mode == Overlap && l.fits() }

// settles reports whether with that in the journal all of the memory is stored, and no more.
func (l *Tracker) settles() bool { return l.notes() && l.remembered.forgotten == l.journal.forgot }

// worth reports whether the memory is to be stored, or what is new in it: with the release, and now and then while the
// lease is held. anyway says that the document is written in any case, beside is that of Commit. What is new goes into
// the journal where there is one, and the whole memory of the other modes is small.
func (l *Tracker) worth(final, anyway, beside bool) (full, note bool) {
	if l.changes == 0 {
		return false, false
	}
	full = !l.settles() && (final || anyway || beside && l.mode != Overlap || time.Since(l.saved) >= l.saveEvery ||
		l.mode == Overlap && !l.fits())
	return full, !full && l.notes() && (final || anyway || beside || l.journal.due())
}

// Stored says that the commit landed, with the object under its name in c.Late.Memory. A commit that did not land is
// not reported: the next adopt reads the memory anew, because what was settled with it may have had to be stored with
// it.
func (l *Tracker) Stored(c Commit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.basis.cursor, l.edge, l.written = c.To, c.To, time.Now()
	if c.owed.Equal(l.future.owed) {
		l.future.owed = time.Time{}
	}
	if c.Late != nil {
		l.basis.late, l.kept = *c.Late, keptClock{c.Late.Clock, c.Late.ClockAt}
		l.object = c.Late.Memory
		l.unkept -= c.unkept
		j := &l.journal
		j.at = time.Now()
		if c.partly {
			j.pages, j.noted = c.pages, c.noted
		} else {
			l.saved = j.at
			*j = journal{hashes: slices.Clone(j.hashes[c.noted:]), forgot: c.forgotten, at: j.at}
		}
		if c.whole && l.changes == c.changes {
			l.changes, l.added = 0, false
		}
	}
	l.passedBy(c.done)
}

// Due reports whether there is something worth a write although nothing is being settled: the low edge moved; or how
// far live rows are settled did (past windows without rows, past rows that the source leaves out, past rows delivered
// early): once a window at most, and at once where it counts. What a lost position has passed is read again.
func (l *Tracker) Due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mode == Overlap {
		return !l.low.Equal(l.edge) ||
			!l.ahead.IsZero() && !l.front.Equal(l.basis.late.Frontier) && time.Since(l.ahead) >= l.Window
	}
	return !l.ahead.IsZero() && !l.front.Equal(l.edge) && (l.counts || time.Since(l.ahead) >= l.Window)
}
