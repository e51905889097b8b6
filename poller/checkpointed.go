package poller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// Checkpointed is the Feed of the modes whose position is a cursor: a [Source] for the rows, and one state document for
// both lease and checkpoint. There is one owner at a time.
//
// It looks before it leases: Open reads the document, the first Next fetches, and only when there is work is the lease
// taken, by compare-and-swap on the very version that was read. If that wins, the rows are still the right ones. An idle
// tick costs one read and one fetch, and writes nothing.
type Checkpointed struct {
	source Source
	keeper *state.Keeper
}

// NewCheckpointed returns a feed. It reads nothing yet.
func NewCheckpointed(source Source, keeper *state.Keeper) *Checkpointed {
	return &Checkpointed{source: source, keeper: keeper}
}

// Open reads the document, and creates it when there is none: otherwise source__start=latest would move with every tick
// that finds nothing.
func (f *Checkpointed) Open(ctx context.Context) (Session, error) {
	snapshot, err := f.keeper.Load(ctx)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, &Fault{CheckpointLoadFailed, fmt.Errorf("reading the state document: %w", err)}
	}
	fresh := err != nil
	if !fresh {
		if held := snapshot.Held(); held != nil {
			return nil, &Fault{LeaseAcquireSkipped, held} // the database need not be asked
		}
	}
	source, err := f.source.Describe(ctx)
	if err != nil {
		return nil, sourceFault("describing the source", err)
	}
	s := &checkpointed{feed: f, source: source, warnings: source.Warnings, nulls: -1}
	if fresh {
		if snapshot, err = s.create(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.adopt(snapshot); err != nil {
		return nil, err
	}
	return s, nil
}

// checkpointed is one tick's session. Settle may run while Next does: mu guards what both use.
type checkpointed struct {
	feed   *Checkpointed
	source Description

	snapshot *state.Snapshot // what the next acquisition is based on
	frontier change.Cursor   // how far rows were fetched
	fetched  int             // batches

	mu       sync.Mutex
	lease    *state.Lease // nil until there is work, and again after its release
	ended    bool         // a settlement fell short: no batch may follow
	warnings []string
	nulls    int64
	// incarnation is that of the database that answered last.
	incarnation string
}

// create writes the first document, at the position that source__start says.
func (s *checkpointed) create(ctx context.Context) (*state.Snapshot, error) {
	start, incarnation, err := s.feed.source.Start(ctx)
	if err != nil {
		return nil, sourceFault("finding the start position", err)
	}
	twins, err := s.feed.keeper.Twins(ctx, s.source.Fingerprint)
	if err != nil { // a hint only: a store that may not be listed must not stop a poller
		s.warn(fmt.Sprintf("whether this poller has a document under another app name is not known: %v", err))
	}
	snapshot, err := s.feed.keeper.Create(ctx, s.source.Fingerprint, incarnation, start)
	if err != nil {
		return nil, &Fault{CheckpointLoadFailed, fmt.Errorf("creating the state document: %w", err)}
	}
	s.warn(fmt.Sprintf("there was no state document: this poller starts at %s (source__start)", start))
	for _, twin := range twins {
		s.warn(fmt.Sprintf("a poller of the same name and source has its checkpoint under another app name, in %s: "+
			"if this app was renamed or moved, set state__app_name to the old name, or every row is delivered again", twin))
	}
	return snapshot, nil
}

// adopt makes a document the one that this session goes on from.
func (s *checkpointed) adopt(snapshot *state.Snapshot) error {
	if stored := snapshot.Doc.SourceFingerprint; stored != s.source.Fingerprint {
		return &Fault{FingerprintMismatch, fmt.Errorf("the state document was written for another source definition "+
			"(stored %s, settings give %s): server, database, table or query, cursor, key or filter has changed. "+
			"Undo the change, or run `rowrelay state reset %s --to accept-fingerprint` to go on at the stored position, or "+
			"`--to beginning` to start over", stored, s.source.Fingerprint, snapshot.Doc.PollerName)}
	}
	s.snapshot = snapshot
	s.frontier = snapshot.Doc.Checkpoint.Cursor
	return nil
}

// maxAdoptions bounds how often one Next starts again because the document was changed by somebody who does not own it.
const maxAdoptions = 3

// Next fetches the next batch, and takes the lease when it is the first with work.
func (s *checkpointed) Next(ctx context.Context, limit Limit) (Grant, error) {
	for adoptions := 0; ; adoptions++ {
		batch, err := s.fetch(ctx, limit)
		if err != nil || len(batch.Events) == 0 {
			return Grant{Batch: batch}, err
		}
		lease, err := s.acquire(ctx)
		var moved *state.MovedError
		switch {
		case err == nil:
			s.frontier = batch.Events[len(batch.Events)-1].Cursor
			s.fetched++
			batch.ID = fmt.Sprintf("batch_%s_%04d", batch.Fetched.UTC().Format("20060102_150405"), s.fetched)
			return Grant{Batch: batch, Right: lease.Context(), Token: lease.Token(), Source: s.source, Check: lease.Check}, nil
		case errors.Is(err, errEnded):
			return Grant{Batch: change.Batch{More: true}}, nil // the settlement that ended it has the fault
		case errors.As(err, &moved) && adoptions < maxAdoptions:
			// An operator, or an owner that has finished since, changed the document: the rows may be old.
			if err := s.adopt(moved.Snapshot); err != nil {
				return Grant{}, err
			}
		case moved != nil:
			return Grant{}, &Fault{LeaseAcquireFailed, fmt.Errorf("taking the lease: %w, again and again", err)}
		default:
			return Grant{}, err
		}
	}
}

// errEnded says that a settlement has ended the session while a fetch was under way.
var errEnded = errors.New("the session has ended")

func (s *checkpointed) fetch(ctx context.Context, limit Limit) (change.Batch, error) {
	from, begun := s.frontier, time.Now()
	page, err := s.feed.source.Fetch(ctx, from, limit)
	if err != nil {
		return change.Batch{}, sourceFault("fetching rows", err)
	}
	if known := s.snapshot.Doc.Checkpoint.Incarnation; known != "" && page.Incarnation != "" && known != page.Incarnation {
		return change.Batch{}, &Fault{SourceGap, fmt.Errorf("the database is not the one that the checkpoint was taken "+
			"from (incarnation %s, now %s): it was restored, failed over or replaced, and rows may have come or gone behind the "+
			"checkpoint. Run `rowrelay state reset %s --to accept-gap` to go on at the stored position, or `--to beginning` to "+
			"start over", known, page.Incarnation, s.snapshot.Doc.PollerName)}
	}
	s.mu.Lock()
	s.warnings = append(s.warnings, page.Warnings...)
	s.incarnation = page.Incarnation
	if page.NullCursors >= 0 {
		s.nulls = page.NullCursors
	}
	s.mu.Unlock()
	now := time.Now()
	return change.Batch{From: from, Events: page.Events, More: page.More, Fetched: now, FetchTime: now.Sub(begun)}, nil
}

// acquire returns the lease, taking it if this is the first batch with work.
func (s *checkpointed) acquire(ctx context.Context) (*state.Lease, error) {
	s.mu.Lock()
	lease, ended := s.lease, s.ended
	s.mu.Unlock()
	if ended {
		return nil, errEnded
	}
	if lease != nil {
		return lease, nil
	}
	// Without the caller's cancellation: an acquisition given up half-way could leave a lease behind that nobody holds.
	lease, err := s.feed.keeper.Acquire(context.WithoutCancel(ctx), s.snapshot)
	var held *state.HeldError
	var moved *state.MovedError
	switch {
	case errors.As(err, &held):
		return nil, &Fault{LeaseAcquireSkipped, held}
	case errors.As(err, &moved):
		return nil, err
	case err != nil:
		return nil, &Fault{LeaseAcquireFailed, fmt.Errorf("taking the lease: %w", err)}
	}
	s.mu.Lock()
	s.lease = lease
	s.mu.Unlock()
	return lease, nil
}

// Settle commits the longest prefix of accepted events: only now are they acknowledged (seeds/003, §1.3). A crash before
// it delivers the batch again; a crash after it does not.
func (s *checkpointed) Settle(ctx context.Context, batch change.Batch, outcomes []Outcome, last bool) (int, error) {
	s.mu.Lock()
	lease := s.lease
	incarnation := s.incarnation
	n := prefix(outcomes)
	whole := n == len(batch.Events)
	s.ended = s.ended || !whole
	if n > 0 && last {
		s.lease = nil // released by this very commit
	}
	s.mu.Unlock()
	if n == 0 {
		return 0, nil
	}
	err := lease.Commit(ctx, state.Commit{
		From: batch.From, To: batch.Events[n-1].Cursor, BatchID: batch.ID, Rows: n, Incarnation: incarnation, Release: last,
	})
	if err == nil {
		return n, nil
	}
	s.mu.Lock()
	s.lease, s.ended = lease, true // the release may not have landed, and an expired lease may still be ours: Close tries
	s.mu.Unlock()
	event := CommitFailed
	if errors.Is(err, state.ErrLost) || errors.Is(err, state.ErrExpired) {
		event = LostLease
	}
	return 0, &Fault{event, err}
}

// Close releases the lease if it is still held: a failed tick releases too. What it cannot release expires.
func (s *checkpointed) Close(ctx context.Context, report *Report) error {
	s.mu.Lock()
	lease := s.lease
	s.lease, s.ended = nil, true
	s.mu.Unlock()
	if lease != nil {
		err := lease.Release(ctx)
		if err != nil && !errors.Is(err, state.ErrLost) && !errors.Is(err, state.ErrExpired) {
			s.warn(fmt.Sprintf("the lease could not be released, the next tick waits until it expires: %v", err))
		}
	}
	report.Warnings = append(report.Warnings, s.warnings...)
	report.NullCursors = s.nulls
	if report.BatchID == "" { // nothing was fetched: the position is where it was
		report.Before, report.After = s.frontier, s.frontier
	}
	return nil
}

func (s *checkpointed) warn(text string) {
	s.mu.Lock()
	s.warnings = append(s.warnings, text)
	s.mu.Unlock()
}

// sourceFault is what a tick ends as when its source fails.
func sourceFault(doing string, err error) error {
	event := FetchFailed
	switch {
	case errors.Is(err, ErrConfig):
		event = ConfigInvalid
	case errors.Is(err, ErrNormalize):
		event = NormalizeFailed
	}
	return &Fault{event, fmt.Errorf("%s: %w", doing, err)}
}
