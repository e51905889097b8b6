// Package parking keeps the events that were rejected until a retry is accepted, or they are given up.
//
// The position moves on past a rejected event. An [Entry] keeps its order key, and later events of that key wait. The
// entry holds no row: a retry reads the row again by its key. A [Lot] belongs to the feed and outlives sessions.
// One session uses it like this:
//
//	Adopt                                                       at Open, and after each state.MovedError
//	Wait, Retry, Full                                           in Next
//	u := Update(…); u.Leave(retries); u.Settle(…); u.Put; Lease.Commit; Stored(u)     in Settle, and in Close under a lease
//	Report                                                      in Close
//
// Under ordering=source nothing is parked: one entry holds the event that the poller waits at.
package parking

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// New returns an empty lot. Adopt fills it.
func New(cfg Config) *Lot {
	l := &Lot{Config: cfg}
	l.table.Store(newTable(nil, ""))
	return l
}

// Adopt begins a session with the entries that a document names. It reads them, unless this process read or wrote that
// object last. What the session before handed out is forgotten. The error is a *Fault.
func (l *Lot) Adopt(ctx context.Context, from Objects, doc *state.Document, origin poller.Origin,
	coarse bool) error {
	l.mu.Lock()
	l.origin, l.coarse, l.handed = origin, coarse, map[uint64]bool{}
	l.mu.Unlock()
	name := doc.Parked.Object
	if name != "" && name == l.table.Load().object {
		return nil
	}
	entries, err := Read(ctx, from, doc)
	if err == nil {
		l.table.Store(newTable(entries, name))
		return nil
	}
	return &poller.Fault{Event: poller.CheckpointLoadFailed, Err: Unread(err, l.Address)}
}

// Parked reports whether events of an order key have to wait. Only under ordering=key do events wait for a parked one:
// under none nothing waits, and under source nothing is parked.
func (l *Lot) Parked(orderKey []byte) bool {
	t := l.table.Load()
	return t.count > 0 && l.Ordering == poller.OrderKey && t.entries[string(orderKey)] != nil
}

// Keys returns the order keys for which Parked is true.
func (l *Lot) Keys() [][]byte {
	if l.Ordering != poller.OrderKey {
		return nil
	}
	t := l.table.Load()
	keys := make([][]byte, 0, len(t.order))
	for _, key := range t.order {
		keys = append(keys, []byte(key))
	}
	return keys
}

// Full returns a *Fault where max_parked is reached. Then no live row may be fetched, because it may have to be parked.
func (l *Lot) Full() error {
	if l.Ordering == poller.OrderSource || !l.table.Load().full(&l.Policy) {
		return nil
	}
	return fullFault(&l.Policy, l.Address)
}

// Crowded reports whether more than half of max_parked wait.
func (l *Lot) Crowded() bool { return l.table.Load().count > l.Policy.MaxParked/2 }

// Room is how many more live rows may be fetched where each may have to wait behind a parked one, beside so many that
// are in flight.
func (l *Lot) Room(unsettled int) int {
	if t := l.table.Load(); t.count > 0 && l.coarse && l.Ordering == poller.OrderKey {
		return l.Policy.MaxParked - t.count - unsettled
	}
	return math.MaxInt
}

// Wait reports, under ordering=source, whether the event that the poller waits at is not due yet.
func (l *Lot) Wait() bool {
	e := l.table.Load().entries[sourceKey]
	if e == nil || l.Ordering != poller.OrderSource || e.due(time.Now()) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.warned {
		l.warned = true
		l.warnings = append(l.warnings, fmt.Sprintf(
			"ordering=source: nothing is sent before %s, when attempt %d of %d of key %s, event %s, is due (%s)",
			e.Next.UTC().Format(time.RFC3339), e.Attempts+1, l.Policy.MaxAttempts, e.Key, e.ID, e.Reason))
	}
	return true
}

// Recall gives the event that the poller waits at (ordering=source) its attempts, wherever it was fetched.
func (l *Lot) Recall(events []change.Event) {
	e := l.table.Load().entries[sourceKey]
	if e == nil || l.Ordering != poller.OrderSource {
		return
	}
	for i := range events {
		if events[i].ID == e.ID {
			e.recall(&events[i])
		}
	}
}

// Report ends the session, and adds to its report what only the lot knows.
func (l *Lot) Report(r *poller.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Warnings = append(r.Warnings, l.warnings...)
	r.DeadLettered = append(r.DeadLettered, l.letters...)
	r.Gone, r.Parked = l.gone, l.table.Load().count
	l.warnings, l.letters, l.gone, l.warned, l.writer = nil, nil, 0, false, poller.DeadLetterWriter{}
}

func (l *Lot) warn(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, text)
}

// Update begins a settlement, which ctx bounds.
func (l *Lot) Update(ctx context.Context) *Update {
	l.writer.Begin(ctx)
	return &Update{lot: l, table: *l.table.Load()}
}

// Stored shows an update to others: its commit is stored, or it changed nothing.
func (l *Lot) Stored(u *Update) {
	l.mu.Lock()
	l.gone += u.gone
	l.mu.Unlock()
	t := u.table
	l.table.Store(&t)
}
