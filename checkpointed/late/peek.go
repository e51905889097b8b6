package late

import (
	"context"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// peekPace is the wait between two looks above the safe point.
func (l *Tracker) peekPace() time.Duration { return max(l.Limit/4, time.Second) }

func (l *Tracker) peekDue(now time.Time) bool {
	return l.on || l.safe != nil && now.Sub(l.lookedUp) >= l.peekPace()
}

// nextExact decides between live rows and a look above the safe point.
func (l *Tracker) nextExact(ctx context.Context) Step {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	turn := l.sweeps || l.on && now.Sub(l.began) < peekAlone
	if !turn || !l.peekDue(now) {
		return Step{Kind: change.Live, Range: change.Range{After: l.reached}}
	}
	if !l.on {
		if !l.oldest.IsZero() && now.Sub(l.oldest) >= l.peekPace() {
			if h, ok := l.look(ctx); ok {
				l.by = h.By
			}
		}
		l.began = now
		l.on, l.at, l.cut, l.fresh = true, l.safe, l.drained, map[uint64]time.Time{}
		l.sweep.new++
		if l.seen == nil {
			l.seen, l.seed = map[uint64]time.Time{}, maphash.MakeSeed()
		}
	}
	return Step{Kind: change.Sweep, Range: change.Range{After: l.at, Unsafe: true}, peek: true}
}

// peeked takes a page of rows above the safe point.
func (l *Tracker) peeked(step *Step, batch *change.Batch, page *change.Page) {
	now := time.Now()
	batch.To, batch.Events = nil, nil
	for i := range page.Events {
		e := &page.Events[i]
		key := maphash.Bytes(l.seed, e.Key)
		since := l.seen[key]
		if since.IsZero() {
			since = now
		}
		h := memoryHash(e.Known())
		known := l.remembered.see(h, l.sweep.new) || l.inFlight.has(h)
		if !known && !l.Wait && now.Sub(since) > l.Limit && l.remembered.len()+l.inFlight.len() < l.Memory &&
			(step.Leave == nil || !step.Leave(e)) {
			batch.Events = append(batch.Events, *e)
			known = true
		}
		if known {
			since = time.Time{} // nothing of it is held back
		}
		if len(l.fresh) < l.Memory {
			l.fresh[key] = since
		}
		l.at = e.Position()
	}
	l.handOut(batch, false)
	l.sweeps = false
	if !page.More {
		l.endPeek(now)
	}
	batch.More = l.on || !l.drained
}

// endPeek takes stock after a complete look.
func (l *Tracker) endPeek(now time.Time) {
	l.on, l.lookedUp = false, now
	l.seen, l.fresh = l.fresh, nil
	l.oldest = time.Time{}
	for _, since := range l.seen {
		if !since.IsZero() && (l.oldest.IsZero() || since.Before(l.oldest)) {
			l.oldest = since
		}
	}
	if l.oldest.IsZero() {
		l.by = ""
	}
	// What was delivered early and is not above the safe point any more was met by the live rows, or is gone.
	l.overtook, l.overtakers, l.met = l.cut, l.handed, l.sweep.new
	if l.front.Equal(l.edge) {
		l.passedBy(l.done)
	}
}

// passedBy forgets what the live rows have passed, once the first done batches are stored: not earlier, because a
// session that begins at the stored position meets them again.
func (l *Tracker) passedBy(done int) {
	l.ahead, l.counts = time.Time{}, false
	if !l.overtook || done < l.overtakers {
		return
	}
	l.overtook = false
	met := l.met // a later look may have begun, with the next stamp
	if l.remembered.keep(func(stamp uint8) bool { return stamp-met < 128 }) > 0 {
		l.changes++
	}
}

// peekHeld tells how long the rows above the safe point have been held back.
func (l *Tracker) peekHeld() (time.Duration, string) {
	if l.oldest.IsZero() {
		return 0, ""
	}
	by := l.by
	if by == "" {
		by = fmt.Sprintf("an open transaction that the server does not name (%d rows are above the safe point)", len(l.seen))
	}
	return time.Since(l.oldest), by
}
