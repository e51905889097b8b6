package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// session is one tick's session. Next and Other belong to one goroutine at a time, Settle and Close to another: mu
// guards what both use.
type session struct {
	feed   *Feed
	source Description

	// Next's own.
	snapshot *state.Snapshot // what the next acquisition is based on
	frontier change.Cursor   // how far live rows were fetched
	start    change.Cursor   // the frontier of the document
	rest     poller.Rest     // what the last fetch showed of live rows
	checked  time.Time       // when the document was last known not to be paused
	retried  bool            // the last batch was of retries: others come next
	backfill backfill
	apart    aparts
	// incarnation and table are those of the database and table that the position belongs to.
	incarnation, table string
	// gap is that of the document; ahead is one that this session found, which Close records.
	gap, ahead string

	stored chan struct{} // holds one signal: a settlement was stored

	mu       sync.Mutex
	endFault error        // the tick fails with it at its end, because others need not wait for it
	lease    *state.Lease // nil until there is work, and again after its release
	ended    bool         // a settlement was incomplete: no batch may follow
	wrote    time.Time    // when a commit was last stored
	batches  int          // that were handed out
	inFlight map[string]*details
	awaited  int     // batches in flight after which rows can be retried at once
	pending  details // what the next batch brings with it
	warnings []string
	nulls    int64
	// newIncarnation and newTable are those that answered last. The next commit records them.
	newIncarnation, newTable string

	// Settle's own, once there is a lease.
	broken     bool // it is not known what is stored
	incomplete bool // a settlement was
	unstored   bool // rows were settled after the last write: it is not worth one for each batch
	unused     int  // commits after which an object is not needed any more
}

// details are what Settle has to know of a batch, beside its outcomes.
type details struct {
	// events are those of the batch. No probe may have one of their order keys.
	events []change.Event
	// retries is what was found out about parked rows before the batch was fetched; frees says that others may come as
	// soon as these are settled.
	retries parking.Retries
	frees   bool
	// chunk is the ID of the backfill that a batch belongs to. final says that it is its last.
	chunk string
	final bool
	// ends is the ID of a backfill of which nothing was left.
	ends string
	// begun are the order keys that the batch leaves out, chunks those that it brings rows of, or of which none was left.
	begun  []begun
	chunks []chunk
}

// mustStore reports whether details have to be stored although there is no event.
func (d *details) mustStore() bool { return d.retries.Leaves() || d.ends != "" || len(d.chunks) > 0 }

// after returns d with earlier ones, which were not settled.
func (d details) after(earlier details) details {
	d.retries = d.retries.After(earlier.retries)
	d.chunks = append(earlier.chunks, d.chunks...)
	if d.ends == "" {
		d.ends = earlier.ends
	}
	return d
}

// Parked reports whether an order key is parked.
func (s *session) Parked(orderKey []byte) bool { return s.feed.parking.Parked(orderKey) }

// Close releases the lease if it is still held: a failed tick releases too. What it cannot release expires. Its error
// is a *Fault that did not have to stop the tick: a dead letter could not be written, or parked rows not be read; or
// what was settled could not be stored in the end.
func (s *session) Close(ctx context.Context, report *poller.Report) error {
	s.mu.Lock()
	lease := s.lease
	s.lease, s.ended = nil, true
	s.mu.Unlock()
	if report.BatchID == "" { // nothing was fetched: the position is where it was
		report.Before, report.After = s.frontier, s.frontier
	}
	if lease != nil {
		s.release(ctx, lease, report)
	}
	s.recordGap(ctx, lease != nil)
	s.feed.late.Report(report)
	s.feed.parking.Report(report)
	for _, text := range s.warnings {
		report.Warnings = append(report.Warnings, strings.ReplaceAll(text, poller.AnyDocument, s.feed.cfg.address()))
	}
	report.NullCursors = s.nulls
	report.DocumentRead, report.Skips = true, s.snapshot.Doc.Skips
	return s.endFault
}

// closePatience bounds the last commit of a session, which may have rows left to acknowledge.
const closePatience = 5 * time.Second

// release gives the lease back, with what is still to be stored in the same write.
func (s *session) release(ctx context.Context, lease *state.Lease, report *poller.Report) {
	if !s.broken {
		ctx, cancel := context.WithTimeoutCause(ctx, closePatience, poller.ErrLate)
		released := false
		err := poller.Guard(func() (err error) { released, err = s.commitRest(ctx, lease); return err })
		cancel()
		if released {
			return
		}
		switch {
		case err == nil:
		case s.unstored:
			s.failAtEnd(err)
			doc := lease.Known()
			report.After = Frontier(&doc)
		default:
			s.warn(fmt.Sprintf("what this tick learned could not be stored at its end, the next one learns it again: %v", err))
		}
	}
	if !s.broken {
		// a panic must not keep the lease from being released
		_ = poller.Guard(func() error { s.collect(ctx, lease); return nil })
	}
	err := lease.Release(ctx)
	if err != nil && !errors.Is(err, state.ErrLost) && !errors.Is(err, state.ErrExpired) {
		s.warn(fmt.Sprintf("the lease could not be released, the next tick waits until it expires: %v", err))
	}
}

// failAtEnd has the tick fail with a fault when it ends. The first one counts; nil is none.
func (s *session) failAtEnd(fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endFault == nil {
		s.endFault = fault
	}
}

func (s *session) warn(text string) {
	s.mu.Lock()
	s.warnings = append(s.warnings, text)
	s.mu.Unlock()
}
