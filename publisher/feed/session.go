package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// session publishes an outbox for one tick.
//
// # What keeps the events of an aggregate in order
//
//   - A fetch shows, of each of its aggregates, the publishable events from the first on (see round). It leaves out
//     what is in flight, and the last ones where they are too many. So an event that becomes visible late, because its
//     transaction was slow or because it was WAITING, is sent before later ones that are still there.
//   - The tick sends the events of one aggregate one after the other, in the order in which they were fetched.
//   - An event is fetched as one that waits while an earlier one of its aggregate is FAILED, WAITING or (where it
//     blocks) dead. The tick absorbs such an event: it is not sent.
//   - Parked covers events that were fetched before the earlier one failed. It holds from the settlement that makes
//     that one FAILED to the settlement of its retry. From its rejection to that settlement the tick knows by itself.
//   - A fetch beside a settlement may show states from before and after it. Of the aggregates that the settlement
//     changed, only events that wait are handed out.
//   - Events of one order key are settled in the order in which they were fetched, others as they come. An absorbed
//     event becomes WAITING only if what it waits for is still there. Otherwise it stays PENDING, and the next fetch
//     shows it, with those that waited before it.
type session struct {
	shared   *shared
	cfg      *Config
	owner    string
	only     int     // the partition that this session is for; -1 for all
	outbox   *Outbox // nil until it was looked at
	strategy claims.Strategy

	// For Next and Other, which are never called side by side.
	looked  time.Time // when look was last asked
	idle    bool      // the last fetch brought nothing
	blocked bool      // ordering=source: a FAILED event waits for its next attempt
	warned  bool      // that it does
	others  bool      // skip_locked: more partitions have work than were taken
	width   int       // skip_locked: how many are taken at most; 0: not decided yet
	unread  bool      // there were retries, and nothing was fetched after them
	failed  bool      // a fetch failed
	batches int
	round   round
	full    bool  // the last page was
	crowded []int // buckets that are read apart
	past    past
	start   int // where it begins to look for free partitions

	hold   *holding        // nil until claims were asked for
	ctx    context.Context //nolint:containedctx // that of its batches: it ends with the session, and with the claims
	cancel context.CancelCauseFunc

	settled chan struct{} // holds one signal: a settlement is done

	deadLetters poller.DeadLetterWriter // for Settle

	mu        sync.Mutex
	ended     bool // nothing is fetched or settled any more
	unsettled bool // a settlement failed
	token     uint64
	inFlight  inFlight
	refs      map[*change.Outbox]event.Ref // of the events in flight
	dueAt     time.Time                    // when FAILED events are asked for next
	// parked: order key → number of the fetch that was the last one begun when it was parked.
	parked       map[string]int
	warnings     []string
	deadLettered []poller.DeadLetter
	expired      int   // events that were given up unpublished
	unwritten    error // the first dead letter that could not be written: what Close returns
	unmarked     error // so is this, for rows that did not take their marks
}

func (s *session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *session) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = append(s.warnings, text)
}

// faultOf returns an error as a Fault. What it wraps decides how the tick ends; otherwise that is event.
func faultOf(event poller.Event, doing string, err error) error {
	if err == nil {
		return nil
	}
	var fault *poller.Fault
	switch {
	case errors.As(err, &fault):
		return fault
	case errors.Is(err, claims.ErrLost):
		event = poller.LostLease
	}
	return &poller.Fault{Event: poller.EventOf(err, event), Err: fmt.Errorf("%s: %w", doing, err)}
}

// bringForward makes FAILED events be asked for after d at the latest.
func (s *session) bringForward(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bringForwardLocked(d)
}

func (s *session) bringForwardLocked(d time.Duration) {
	if at := time.Now().Add(d); at.Before(s.dueAt) {
		s.dueAt = at
	}
}

// past is the look past busy aggregates, at the others in their buckets. No index tells aggregates apart, so that it
// reads a backlog from one end to the other. That takes place beside the session, which goes on meanwhile.
//
// It says which events are the first of their aggregates. They are read again before they are handed out: what was
// published meanwhile, or waits, is left out. An earlier event of theirs cannot have come meanwhile, because writers
// lock the aggregate before they draw a number.
type past struct {
	found chan sighting // nil while no look is under way
	next  time.Time     // when the next one is due
	ended sync.WaitGroup
}

// sighting is what a look has found.
type sighting struct {
	refs []event.Ref
	next time.Time // when the next look is due
}

// round is how far a session has read its buckets.
//
// A page begins at the first event of all, by seq, or at the beginning of a bucket. It never begins within a bucket:
// all events of an aggregate are in one bucket, so a page shows every aggregate from its first event on, whatever
// became visible since the last page. Events in flight are read again and left out.
//
// A session that holds all buckets reads by seq. Such a page holds events of all aggregates that were busy, which can
// be sent side by side. A session that holds few buckets reads by bucket: it seeks, and does not read what others
// publish. One that holds many reads by bucket until a page is full, and then by seq until one is not: what others
// publish, one busy aggregate perhaps, may lie before all that it has.
//
// An aggregate with a backlog must not keep others waiting. At most maxOfOne of its events are in flight. While it has
// more, its bucket is crowded: it is read apart, a few events at a time, and the pages leave it out. What shares one of
// 1,024 buckets with it is looked for past it (past.go). A table without buckets is one bucket.
type round struct {
	bucket  int // where the next page by bucket begins
	repeats int // how many pages in a row did not get beyond it
}

// take returns what the look under way has found, if it ends in time. A fault of it is none of the session's: one that
// lasts is met by its own fetches.
func (p *past) take(patience time.Duration) []event.Ref {
	if p.found == nil {
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var found sighting
	select {
	case found = <-p.found:
	case <-timer.C:
		select {
		case found = <-p.found:
		default:
			return nil
		}
	}
	p.found, p.next = nil, found.next
	return found.refs
}

// next moves on after a page whose last row is in bucket last. more says that rows follow the page.
func (c *round) next(last int, more bool) {
	switch {
	case !more:
		*c = round{}
	case last != c.bucket:
		*c = round{bucket: last}
	default:
		if c.repeats++; c.repeats >= maxRepeats {
			*c = round{bucket: c.bucket + 1}
		}
	}
}
