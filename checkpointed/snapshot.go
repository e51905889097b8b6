package checkpointed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Snapshotter is a Source whose changes can be read from now on, and beside them all rows that it has now.
type Snapshotter interface {
	// Snapshot notes the position first, and then what rows there are. Errors wrap poller.ErrConfig where the settings
	// are at fault.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot is where a read of all rows begins.
type Snapshot struct {
	// After is the position that changes are read after. Every change that is not in the rows comes after it.
	After change.Cursor
	// Rows is the range of the rows; UpTo is the beginning where there are none. Count is about how many they are, 0 where
	// that is not known.
	Rows  change.Range
	Count int64
	// Incarnation is that of the database that said all this.
	Incarnation string
}

// Begin puts the snapshot's begin into a document: the rows are a backfill beside the changes. by says who asked for
// it.
func (s *Snapshot) Begin(doc *state.Document, by string) {
	doc.Checkpoint.Cursor, doc.Checkpoint.Incarnation, doc.Checkpoint.Gap = s.After, s.Incarnation, ""
	doc.Late, doc.Backfill = state.Late{Mode: doc.Late.Mode}, nil
	if !s.Rows.UpTo.IsStart() {
		doc.Backfill = &state.Backfill{ID: strings.ToLower(rand.Text()[:8]), Whole: true, From: s.Rows.After, To: s.Rows.UpTo,
			At: s.Rows.After, Total: s.Count, StartedAt: time.Now(), By: by}
	}
}

// snapshot asks the source for one.
func (f *Feed) snapshot(ctx context.Context) (Snapshot, error) {
	source, ok := f.source.(Snapshotter)
	if !ok {
		return Snapshot{}, fmt.Errorf("%w: this source has no snapshot of all its rows", poller.ErrConfig)
	}
	return source.Snapshot(ctx)
}

// besides says for people that rows are read beside the changes.
func besides(b *state.Backfill) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("; the rows that the table has are read beside the changes (about %d)", b.Total)
}

// resync begins a snapshot where changes are missing, and returns a *state.MovedError with the document of that: the
// session goes on from there. Changes are not missing there; where the source says that they are, or that it is another
// database, the gap stays one, and a person decides.
//
// It takes no lease: the document is changed by compare-and-swap, as an operator would. A tick that holds the lease
// already ends, and the next one does it: it reads changes before anything takes the lease.
func (s *session) resync(ctx context.Context, gap error) error {
	s.mu.Lock()
	held := s.lease != nil
	s.mu.Unlock()
	if held {
		if s.feed.gap = true; s.feed.stands {
			return gap
		}
		return errEnded
	}
	s.feed.stands = true
	snapshot, err := s.feed.snapshot(ctx)
	if err != nil {
		return s.feed.cfg.sourceFault(err)
	}
	if err := s.sameDatabase(snapshot.Incarnation); err != nil {
		return err
	}
	_, err = s.feed.source.Fetch(ctx, change.Range{After: snapshot.After}, poller.Limit{Rows: 1, Bytes: 1})
	switch {
	case errors.Is(err, poller.ErrGap):
		return gap
	case err != nil:
		return s.feed.cfg.sourceFault(err)
	}
	s.feed.stands = false
	var doc state.Document
	after, err := s.feed.keeper.Edit(ctx, s.snapshot, func(d *state.Document) {
		snapshot.Begin(d, "source__on_gap=resync")
		d.Checkpoint.Table = ""
		doc = *d
	})
	var other *state.HeldError
	switch {
	case errors.As(err, &other):
		return &poller.Fault{Event: poller.LeaseAcquireSkipped, Err: other}
	case errors.Is(err, state.ErrConflict):
		if after, err = s.feed.keeper.Load(ctx); err == nil {
			return &state.MovedError{Snapshot: after}
		}
	}
	if err != nil {
		return &poller.Fault{Event: poller.CommitFailed, Err: fmt.Errorf("beginning a snapshot after a gap: %w", err)}
	}
	s.warn(fmt.Sprintf("changes are missing, and source__on_gap=resync begins again at %s%s. Rows that were deleted meanwhile "+
		"are not told of: compare the receiver's keys with the table's. The gap was: %v", snapshot.After,
		besides(doc.Backfill), gap))
	return &state.MovedError{Snapshot: after}
}
