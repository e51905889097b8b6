// Package poller runs ticks: it fetches changed rows from a [Feed], delivers them to an [Output], and settles what was
// delivered, which is the acknowledgment boundary.
//
// A tick opens the feed (which loads the position), asks its session for batches, delivers their events in lanes so
// that two events of one order key are never in flight together, settles each batch in turn, and closes the session.
// Whatever happens, the tick ends with one [Report]; logs and metrics are read off it.
//
// The interfaces that a tick needs live here, beside their caller: Feed and Session, and Output. Package checkpointed
// is the feed over a source and a state document, package publisher that of an outbox.
package poller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Feed combines an authority (a lease, or claims) with a position (a cursor, or the state of rows).
type Feed interface {
	// Open loads the position and returns a session. It writes only where there is no document yet.
	// Errors are a *Fault, whose Event says what the tick ends as.
	Open(ctx context.Context) (Session, error)
}

// Session is what one tick does with a feed. It is used by one goroutine at a time, except that Settle may run while
// Next or Other does, and Parked at any time.
type Session interface {
	// Next returns the next batch, at most limit, and until when it may be delivered. A batch without events means that
	// there is nothing to do for now, unless it says More. Next may run ahead of Settle by a few batches. Batches are
	// settled in the order in which Next returned them, unless their grants are ByRow. Errors are a *Fault.
	Next(ctx context.Context, limit Limit) (Grant, error)
	// Parked reports whether an order key is parked: an event of it was rejected, and its retry or its dead letter is not
	// settled yet. It is asked for every event before that is sent, and costs next to nothing while nothing is parked.
	Parked(orderKey []byte) bool
	// Other returns one event whose order key is none of avoid, to be delivered alone as a probe of the destination, or a
	// batch without events where the source shows none. It is never settled: it comes again at its place. Errors are a
	// *Fault.
	Other(ctx context.Context, avoid [][]byte) (Grant, error)
	// Settle makes outcomes durable and returns how many events, counted from the first, are now acknowledged: those
	// before the first Deferred one at most. Errors are a *Fault; events may be acknowledged although there is one
	// (max_parked is reached in the middle, a poller with ordering=source has to wait).
	Settle(ctx context.Context, s Settlement) (int, error)
	// Close gives the lease or claim back if it is still held, and adds to the report what only the session knows.
	Close(ctx context.Context, report *Report) error
}

// Settlement is what one commit shall make durable.
type Settlement struct {
	// Batches are one or more that Next returned one after the other, without what was settled of them before. Where an
	// outcome is Deferred, all that Next returned and Settle has not settled are here, and no further settlement comes: a
	// feed whose position is a prefix ignores the batches after the first with such an outcome.
	Batches []Settled
	// Accepted is when the destination last accepted an event; zero where it is not known. A feed that keeps it shows it
	// in its next sessions' grants.
	Accepted time.Time
	// Last says that no batch will follow, so that the lease or claim may be given back in the same write.
	Last bool
}

// Settled is a batch, or those events of it that this settlement is about, with what became of them.
type Settled struct {
	Batch    change.Batch
	Outcomes []Outcome // of Batch.Events, by index
	// Rejections says why, for each Rejected event, by index; nil when there is none.
	Rejections map[int]Rejection
}

// Limit bounds one fetch: it stops at either, but always brings at least one row where there is one.
type Limit struct {
	Rows  int
	Bytes int
}

// Origin says where events come from.
type Origin struct {
	// Engine is sqlserver, postgres, mysql or sqlite; Table is the qualified name, or "query".
	Engine, Table string
	// Fingerprint identifies the source definition: "sha256:…".
	Fingerprint string
}

// Grant is a batch, and until when it may be delivered.
type Grant struct {
	Batch change.Batch
	// Context ends, with a cause, at the deadline: then the batch may no longer be delivered.
	Context context.Context //nolint:containedctx // the deadline is what is handed out
	// Token is the fencing token under which the batch is delivered.
	Token uint64
	// Origin is what the batch was fetched from.
	Origin Origin
	// Check reports by wall clock and monotonic clock, without a round trip, whether the deadline is over. It is asked
	// before each request, because a frozen process learns of an ended context too late.
	Check func() error
	// Accepted is when the destination last accepted an event of this feed, as far as that was stored; zero where it was
	// not.
	Accepted time.Time
	// Bounded says that the session bounds how many events of one order key are fetched and not settled, so that a further
	// batch brings others.
	Bounded bool
	// ByRow says that the position is the state of each row: events may be settled in any order in which those of one
	// order key keep theirs.
	ByRow bool
	// Ended says that the session has no more batches, and no fault: the tick ends when those before are settled.
	Ended bool
	// Rest says whether more live rows follow this page. Batch.More does not say that: it may be about late rows, retries
	// or a backfill.
	Rest Rest
}

// Rest says whether live rows follow a batch.
type Rest uint8

const (
	// RestUnknown: the fetch was none of live rows; and always of an outbox, whose rows say themselves what waits.
	RestUnknown Rest = iota
	// RestNone: no live row followed.
	RestNone
	// RestMore: it stopped at a limit, and there are more.
	RestMore
)

// Output delivers events downstream.
type Output interface {
	// Deliver returns nil only when every event is durably accepted downstream. A *DeliveryError says which were not,
	// and why; any other error means that all of them are unavailable. Deliver makes one attempt: the tick retries.
	//
	// A delivery holds one event of an order key. Config.KeyEvents may let it hold several, in their order: then the
	// output accepts none that comes after one of its order key that failed.
	//
	// It may be called concurrently, with deliveries that share events. The delivery stays the caller's: Deliver changes
	// nothing in it, and reads none of its slices after it has returned; strings it may keep. When ctx ends, it stops
	// sending and returns an error that wraps ctx's cause. It has no timeout of its own.
	Deliver(ctx context.Context, d change.Delivery) error
}

// Errors that a Source wraps, to say what kind of fault it was.
var (
	ErrConfig    = change.ErrConfig
	ErrLogin     = change.ErrLogin
	ErrNormalize = errors.New("normalisation")
	ErrGap       = errors.New("gap in the source")
	// ErrAhead is an ErrGap that the source stops showing when rows to come have taken its counter past the position.
	ErrAhead = fmt.Errorf("%w", ErrGap)
)
