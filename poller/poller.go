// Package poller runs ticks: it fetches changed rows from a [Feed], delivers them to an [Output], and settles what was
// delivered, which is the acknowledgment boundary (seeds/003, §1.3).
//
// A tick opens the feed (which loads the position), asks its session for batches, delivers their events in lanes so that
// two events of one order key are never in flight together, settles each batch in turn, and closes the session. Whatever
// happens, the tick ends with one [Report]; logs and metrics are read off it.
//
// The interfaces that a tick needs live here, beside their caller: Feed and Session, Output, and [Source], from which
// [Checkpointed] builds a feed over a state document.
package poller

import (
	"context"
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Feed combines an authority (a lease, or claims) with a position (a cursor, or the state of rows).
type Feed interface {
	// Open loads the position and returns a session. It writes only where there is no document yet.
	// Errors are a *Fault, whose Event says what the tick ends as.
	Open(ctx context.Context) (Session, error)
}

// Session is one tick's way through a feed. It is used by one goroutine at a time, except that Settle may run while
// Next does.
type Session interface {
	// Next returns the next batch, at most limit, and the right to deliver it: a context that ends, with a cause, when
	// that right ends. A batch without events means that the source is drained for now. Next may run ahead of Settle by
	// a few batches. Errors are a *Fault.
	Next(ctx context.Context, limit Limit) (Grant, error)
	// Settle makes the outcomes durable: outcomes[i] is that of batch.Events[i]. batch may be several that Next
	// returned one after the other, joined under the last one's ID; then all is accepted. last says that no batch will
	// follow, so that the right may be given back in the same write. It returns how many events are now acknowledged.
	// Errors are a *Fault.
	Settle(ctx context.Context, batch change.Batch, outcomes []Outcome, last bool) (int, error)
	// Close gives the right back if it is still held, and adds to the report what only the session knows.
	Close(ctx context.Context, report *Report) error
}

// Limit bounds one fetch: it stops at either, but always brings at least one row where there is one.
type Limit struct {
	Rows  int
	Bytes int
}

// Grant is a batch together with the right to deliver it.
type Grant struct {
	Batch change.Batch
	// Right ends, with a cause, when the batch may no longer be delivered.
	Right context.Context //nolint:containedctx // the right to deliver is what is handed out
	// Token is the fencing token under which the batch is delivered.
	Token uint64
	// Source is what the batch was fetched from.
	Source Description
	// Check reports by wall clock and monotonic clock, without a round trip, whether the right still holds at this
	// moment: it is asked before each request, because a frozen process learns of an ended context too late.
	Check func() error
}

// Outcome is what became of one event.
type Outcome uint8

const (
	// Deferred: not tried, behind its key, or the destination was unavailable. It is the zero value: what nobody
	// vouches for is not acknowledged.
	Deferred Outcome = iota
	// Accepted: durably accepted downstream.
	Accepted
	// Rejected: the destination, or the format, refused it.
	Rejected
)

// Output delivers events downstream.
type Output interface {
	// Deliver returns nil only when every event is durably accepted downstream. A *DeliveryError says which were not,
	// and why; any other error means that all of them are unavailable. Deliver makes one attempt: the tick retries.
	Deliver(ctx context.Context, d change.Delivery) error
}

// Cause says why an event was not accepted.
type Cause uint8

const (
	// Unavailable: no answer, or one that says nothing about the event (connection refused, timeout, 429, 5xx).
	Unavailable Cause = iota
	// Refused: the destination answered for this event (a 4xx, an entry in batchItemFailures).
	Refused
	// Impossible: it cannot be sent at all (too large, not encodable); repeating it is of no use.
	Impossible
)

// String names the cause as the metric label `reason` does.
func (c Cause) String() string {
	switch c {
	case Refused:
		return "refused"
	case Impossible:
		return "impossible"
	default:
		return "unavailable"
	}
}

// DeliveryError is an Output's account of the events that it did not deliver.
type DeliveryError struct {
	// Failed lists the failed events by index in Delivery.Events, ascending; the others were accepted.
	Failed []FailedEvent
	// RetryAfter is how long the destination asked to be left alone; 0 when it did not.
	RetryAfter time.Duration
	// Err is what happened, for people: it names the destination without its secrets.
	Err error
}

// FailedEvent is one event that was not accepted.
type FailedEvent struct {
	Index  int
	Cause  Cause
	Status int // HTTP status, 0 where there was none
}

// Error describes the failure.
func (e *DeliveryError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *DeliveryError) Unwrap() error { return e.Err }

// FailAll is the DeliveryError that gives all n events the same cause.
func FailAll(n int, cause Cause, status int, err error) *DeliveryError {
	failed := make([]FailedEvent, n)
	for i := range failed {
		failed[i] = FailedEvent{Index: i, Cause: cause, Status: status}
	}
	return &DeliveryError{Failed: failed, Err: err}
}

// Source is a table or query that shows rows in the order of a cursor.
type Source interface {
	// Describe connects where needed, proves the settings against the catalog, and says what the source is. It costs no
	// round trip while what it learned before is fresh. Errors wrap ErrConfig where the settings are at fault.
	Describe(ctx context.Context) (Description, error)
	// Start returns the position that a poller without a document begins at, by source__start, and the incarnation of the
	// database that it was read from.
	Start(ctx context.Context) (start change.Cursor, incarnation string, err error)
	// Fetch returns the rows after the position, in one round trip. It retries transient faults itself, bounded. Errors
	// wrap ErrNormalize where rows came but cannot be turned into events without loss, ErrConfig where the settings or
	// the stored cursor do not fit the table; any other is a fetch fault.
	Fetch(ctx context.Context, after change.Cursor, limit Limit) (Page, error)
}

// Description says what a source is.
type Description struct {
	// Fingerprint identifies the source definition: "sha256:…" (seeds/001, §9).
	Fingerprint string
	// Engine is sqlserver, postgres, mysql or sqlite; Table is the qualified name, or "query".
	Engine, Table string
	// Warnings are for the operator, each once for each Describe that did not come from memory.
	Warnings []string
}

// Page is what one fetch brought.
type Page struct {
	Events []change.Event
	// More says that the fetch stopped at a limit.
	More bool
	// Incarnation identifies the life of the database that answered (a restore or failover begins a new one); "" where
	// the engine has none.
	Incarnation string
	// Warnings are for the operator: NULL cursors, and the like. Throttled by the source.
	Warnings []string
	// NullCursors is the number of rows whose cursor is NULL, counted by a throttled probe; -1 when it was not counted.
	NullCursors int64
}

// Errors that a Source wraps so that the tick can tell what kind of fault it was.
var (
	ErrConfig    = errors.New("configuration")
	ErrNormalize = errors.New("normalisation")
)
