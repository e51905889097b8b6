package poller

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// Event is what a tick ended as: the member "event" of its log line (docs/observability.md).
type Event string

// The events of a tick. The first group answers 200, the second 500.
const (
	TickComplete         Event = "tick_complete"
	FetchEmpty           Event = "fetch_empty"
	LeaseAcquireSkipped  Event = "lease_acquire_skipped"
	Paused               Event = "paused"
	LeaseAcquireFailed   Event = "lease_acquire_failed"
	CheckpointLoadFailed Event = "checkpoint_load_failed"
	FetchFailed          Event = "fetch_failed"
	NormalizeFailed      Event = "normalize_failed"
	HandlerFailed        Event = "handler_failed"
	CommitFailed         Event = "commit_failed"
	LostLease            Event = "lost_lease"
	FingerprintMismatch  Event = "fingerprint_mismatch"
	SourceGap            Event = "source_gap"
	StateGone            Event = "state_gone"
	ConfigInvalid        Event = "config_invalid"
)

// Fault is an error that ends a tick as Event.
type Fault struct {
	Event Event
	Err   error
}

// Error describes the fault.
func (f *Fault) Error() string { return fmt.Sprintf("%s: %v", f.Event, f.Err) }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// FaultOf returns err as a Fault: itself where it is one, else one that ends the tick as event.
func FaultOf(err error, event Event) error {
	var fault *Fault
	if errors.As(err, &fault) {
		return fault
	}
	return &Fault{event, err}
}

// EventOf is what a source's error makes of a tick by what it wraps; otherwise that is event.
func EventOf(err error, event Event) Event {
	switch {
	case errors.Is(err, ErrConfig):
		return ConfigInvalid
	case errors.Is(err, ErrNormalize):
		return NormalizeFailed
	case errors.Is(err, ErrGap):
		return SourceGap
	}
	return event
}

// Fails reports whether an invocation that ended as e must fail.
func (e Event) Fails() bool {
	switch e {
	case TickComplete, FetchEmpty, LeaseAcquireSkipped, Paused:
		return false
	default:
		return true
	}
}

// Report is the account of one tick of one output.
type Report struct {
	Poller, Output string
	Event          Event
	// Err is why, for a tick that failed or was skipped.
	Err error
	// RetryAt is when a later tick asks again, where this one has left a failing source or destination alone. Zero where
	// it has not.
	RetryAt time.Time
	// Reason is the failure's cause where it is narrower than Event: refused, impossible, or one of OutageReasons. Remedy
	// is what to do about it, where the output has said so: see [DeliveryError].
	Reason, Remedy string
	// Warnings are for the operator.
	Warnings []string

	Before, After change.Cursor
	BatchID       string // the last batch that was fetched
	Token         uint64 // the fencing token; 0 when no lease was taken
	Rows          int    // events acknowledged: delivered, parked, or given up
	Delivered     int    // of Rows, those that the destination accepted
	Batches       []BatchStats
	Drained       bool // the last fetch was not full, whatever it was of
	// DrainedAt is the start time of the fetch that found the source empty, once every row fetched before it was settled.
	// Zero if no fetch found it empty. RowsWait says that the tick ended while live rows were known to wait. Parked rows,
	// and those that are held back above a safe point, count for neither. An outbox has neither.
	DrainedAt time.Time
	RowsWait  bool

	Started, Ended time.Time
	// Lag is the age of the newest acknowledged event while there is more to come; 0 when there is not. -1: there is more
	// to come, and the age is not known, because the cursor is no time.
	Lag time.Duration
	// Holder is who held the lease when the tick was skipped for that, Until when the lease may be taken at the earliest,
	// by our clock; "" and zero where there was none, and of an outbox.
	Holder string
	Until  time.Time
	// Staleness is the age of another holder's heartbeat beyond its ttl; 0 when there is none.
	Staleness time.Duration
	// Answers counts the requests, repetitions included, by what the destination said: AnsweredWell, AnsweredInPart,
	// Unanswered, or the status of a failure ("503").
	Answers map[string]int
	// Ages counts the events that the destination accepted by how old they were then, in two digits, so that there are
	// few: from the time in the cursor, by this machine's clock. Empty where the cursor is no time, and of a backfill.
	Ages map[time.Duration]int
	// Rejected counts the attempts held against events in this tick, Parked the parked events and their followers when it
	// ended (-1: not known), Gone the parked events whose row was found gone.
	Rejected, Parked, Gone int
	// Expired counts the events of an outbox that were given up because their expires_at had come.
	Expired int
	// Filtered counts the events that the output's settings leave out.
	Filtered int
	// Refused is the first of the rejected events; nil where none was.
	Refused *Refusal
	// Searching is what is left of the search for the events that requests failed for; 0: no search is under way. The next
	// tick of this process goes on with it, and leaves less unless the destination fails.
	Searching int
	// DeadLettered are the events given up in this tick, without their rows.
	DeadLettered []DeadLetter
	// HeldBack is how long rows have been held back above the safe point, or because the memory of delivered rows is full;
	// HeldBy says by what: a session of the database where it shows it. Zero when nothing is.
	HeldBack time.Duration
	HeldBy   string
	// Remembered is the number of rows in the memory of late commits. Late is the number of rows found in this tick that
	// became visible below the position.
	Remembered, Late int
	// NullCursors is the last count of rows with a NULL cursor; -1 when it was not counted.
	NullCursors int64
	// Outbox is what an outbox holds; nil where it was not counted, or is none.
	Outbox *OutboxFigures
	// DocumentRead says that the state document was read in this tick, however it ended. Skips are the advances by hand
	// that it remembers, oldest first.
	DocumentRead bool
	Skips        []state.Skip
	// Share is what a tick was about of an outbox whose partitions are handed out one by one; nil: it was about
	// everything.
	Share *Share
}

// What a destination may say to a request, beside a status: see Report.Answers.
const (
	AnsweredWell   = "accepted"
	AnsweredInPart = "partly"
	Unanswered     = "none" // no connection, no answer in time, or a failure without a status
)

// Refusal is a rejected event without its row.
type Refusal struct {
	ID  string
	Key []byte
	Rejection
}

func (r *Report) answered(how string) {
	if r.Answers == nil {
		r.Answers = map[string]int{}
	}
	r.Answers[how]++
}

// accepted counts an event that the destination has taken.
func (r *Report) accepted(kind change.Kind, e *change.Event, at time.Time) {
	if e.Undated || kind == change.Backfill {
		return
	}
	if r.Ages == nil {
		r.Ages = map[time.Duration]int{}
	}
	age, unit := max(0, at.Sub(e.Time)), time.Millisecond
	for age/100 >= unit { // 100*unit would overflow: a row may be of the year 1
		unit *= 10
	}
	r.Ages[age.Round(unit)]++
}

// Share is a part of an outbox's work under fan-out.
type Share struct {
	// Partition is the one that the tick was to publish; -1: it was the timer's, which hands them out.
	Partition int
	// Work are the partitions that had something to publish, as the timer's tick found.
	Work []int
}

// OutboxFigures count the events of an outbox by what becomes of them.
type OutboxFigures struct {
	// Pending are to be published, Delayed later, Failed have a next attempt, Waiting wait for a delayed, failed or dead
	// one of their key, Dead are given up.
	Pending, Delayed, Failed, Waiting, Dead int64
	// Bound says that counting stopped there: the figure is at least that. 0: all are exact.
	Bound int64
	// OldestPending is the age of the oldest pending event; 0 where there is none.
	OldestPending time.Duration
}

// HeldUp is how many events wait for one that is not delayed. Where some failed, what waits for a delayed one counts,
// too: the table does not tell them apart.
func (f *OutboxFigures) HeldUp() int64 {
	if f.Failed+f.Dead == 0 {
		return 0
	}
	return f.Waiting
}

// BatchStats are the figures of one settled batch. Batches that shared a commit each have all of its time.
type BatchStats struct {
	Rows                   int
	Fetch, Deliver, Commit time.Duration
}

// Failed reports whether the invocation must fail.
func (r *Report) Failed() bool { return r.Event.Fails() }

// fail makes the report that of err: its Event when err is a Fault, or fallback.
func (r *Report) fail(err error, fallback Event) {
	var fault *Fault
	if errors.As(FaultOf(err, fallback), &fault) {
		r.Event, r.Err = fault.Event, fault.Err
	}
	var read *readError
	if errors.As(err, &read) {
		r.DocumentRead, r.Skips = true, read.skips
	}
	var held *state.HeldError
	if errors.As(err, &held) {
		r.Holder, r.Until, r.Staleness = held.Owner, time.Now().Add(held.ExpiresIn), held.Staleness
		if held.Stale {
			r.Warnings = append(r.Warnings, fmt.Sprintf("another instance holds the lease but does not renew it: %v", held))
		}
	}
}

// readError is a fault that a tick met after it had read the document, with the skips that this remembers.
type readError struct {
	error
	skips []state.Skip
}

// Unwrap returns the fault's own error.
func (e *readError) Unwrap() error { return e.error }

// AfterRead adds to the fault that a session met after it had read the document what the report takes from there.
func AfterRead(err error, doc *state.Document) error {
	var fault *Fault
	if !errors.As(FaultOf(err, CheckpointLoadFailed), &fault) {
		return err
	}
	return &Fault{fault.Event, &readError{fault.Err, doc.Skips}}
}
