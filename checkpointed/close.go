package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

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
