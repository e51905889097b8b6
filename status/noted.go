package status

import "time"

// Note is what the ticks of one output have told last: what no state document holds. The instance that ticks leaves it
// in the state store, because the instance that answers the page is often another one. Times are that instance's clock,
// in UTC.
type Note struct {
	Version  int       `json:"version"`
	Instance string    `json:"instance"`
	At       time.Time `json:"at"` // the end of the tick that was noted last
	Event    string    `json:"event"`
	Failed   bool      `json:"failed"`
	Seconds  float64   `json:"tick_seconds"`
	// More says that the tick ended although there was more to do.
	More bool     `json:"more,omitempty"`
	Lag  *float64 `json:"lag_seconds,omitempty"` // nil: not known
	// WaitingSince is since when live rows wait, nil while none does; DrainedAt is when it was last seen that none does.
	// See lag.go.
	WaitingSince *time.Time `json:"waiting_since,omitempty"`
	DrainedAt    *time.Time `json:"drained_at,omitempty"`
	HeldBack     *HeldBack  `json:"held_back,omitempty"`
	LastSuccess  *time.Time `json:"last_success,omitempty"`
	// Document says that the last tick that succeeded had a position in a state document. Outboxes and leases have
	// none, and a poller of one's name may have been one.
	Document  bool     `json:"document,omitempty"`
	LastError *Problem `json:"last_error,omitempty"` // also after a later success
	History   []Step   `json:"history,omitempty"`    // of the last hour, in order
	// SilentAfter is how long after At, in seconds, a missing sign of life says that nothing ticks any more; 0 where
	// it is not known when the next tick is due (run --once).
	SilentAfter float64 `json:"silent_after_seconds,omitempty"`
	// IdleAfter is the same where nobody holds the lease, because an idle tick ends at once; 0 where it does not.
	IdleAfter float64 `json:"idle_silent_after_seconds,omitempty"`
	// Stopped is when the process whose ticks these are ended in order; nil while it may tick.
	Stopped *time.Time `json:"stopped,omitempty"`
	// Parts are the partitions of an outbox under fan-out whose last tick failed, and those that have recovered; Handed is
	// what the timer found last. Both are nil where ticks are about everything. See parts.go.
	Parts  map[string]PartEnd `json:"partitions,omitempty"`
	Handed *Handed            `json:"handed_out,omitempty"`

	unfit bool // it was stored by a clock that runs ahead, and is not believed
	// ahead is by how much the reader's clock is ahead of the store's, by which the times of the note are.
	ahead time.Duration
}

// before reports whether t is earlier than u; no time is earlier than any.
func before(t, u *time.Time) bool {
	return u != nil && (t == nil || t.Before(*u))
}

// PartEnd is how the last tick of a partition ended.
type PartEnd struct {
	At     time.Time `json:"at"`
	Failed string    `json:"failed,omitempty"` // as what; "" when it did not
	Error  *Problem  `json:"error,omitempty"`  // why: kept of the maxErrors that failed last
}

// Handed is what the timer of an outbox with fan-out found: a partition without work has nothing that could fail any
// more.
type Handed struct {
	At   time.Time `json:"at"`
	Work []int     `json:"work,omitempty"`
}

// Times of the notes.
const (
	noteEvery   = 15 * time.Second // also after a failure to write
	lifeEvery   = time.Minute      // where there is nothing to tell but that ticks come
	idleBound   = 10 * time.Second // of a tick that finds nothing to do, and of writing its note
	noteSoon    = 2 * time.Second  // between two outcomes: partitions of one outbox may fail and succeed by turns
	rereadEvery = 5 * time.Minute
	noteBound   = 5 * time.Second // of one read or write
	// of all that is left at the end: a process that was told to stop must not wait for a note
	lastBound = 2 * time.Second
	clockNear = 5 * time.Second // by so much two clocks seem to differ because an answer takes its time
)
