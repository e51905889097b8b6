package poller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

// look decides what comes next: retries that are due, then live rows, late ones and chunks of a backfill in turn.
func (s *checkpointed) look(ctx context.Context, limit Limit) (change.Batch, note, error) {
	s.rest = RestUnknown
	if wait, err := s.waiting(); wait || err != nil {
		return change.Batch{}, note{}, err
	}
	queued := s.queued() // before the entries are looked at: what is settled after this is waited for below
	batch, about, err := s.retry(ctx, limit)
	if err != nil && ctx.Err() == nil {
		s.owe(err) // others need not wait for rows that cannot be read; the next tick tries again
		batch, about, err = change.Batch{}, note{}, nil
	}
	if err != nil || len(batch.Events) > 0 || about.work() {
		return batch, about, err
	}
	if p := s.parked.Load(); p.count >= s.feed.cfg.Policy.MaxParked && s.feed.cfg.Ordering != OrderSource {
		return change.Batch{}, note{}, &Fault{HandlerFailed, &parkingFullError{s.feed.cfg.Policy.MaxParked}}
	}
	filling := s.filling()
	if filling && s.backfill.turn && s.feed.pace.ready(s.backfill.ID) <= 0 {
		return s.chunk(ctx, limit)
	}
	batch, err = s.live(ctx, limit)
	if err != nil || !filling && !queued {
		return batch, note{}, err
	}
	idle := len(batch.Events) == 0 && !batch.More
	s.backfill.turn = true
	batch.More = true
	switch {
	case !idle:
	case queued:
		s.await(ctx)
	default:
		if err := clock.Sleep(ctx, min(s.feed.pace.ready(s.backfill.ID), turnWait)); err != nil {
			return change.Batch{}, note{}, &Fault{FetchFailed, err}
		}
	}
	return batch, note{}, nil
}

// live fetches live rows, or late ones where it is their turn.
func (s *checkpointed) live(ctx context.Context, limit Limit) (change.Batch, error) {
	step := s.feed.late.next(ctx)
	if step.Idle {
		return change.Batch{}, nil
	}
	begun := time.Now()
	page, err := s.read(ctx, "fetching rows", step.Range, limit)
	if err != nil {
		return change.Batch{}, err
	}
	batch := s.feed.late.fetched(step, &page)
	if err := s.feed.late.refusal(); err != nil {
		s.owe(&Fault{NormalizeFailed, fmt.Errorf("fetching rows: %w", err)}) // what is dated rightly need not wait
	}
	batch.Fetched = time.Now()
	batch.FetchTime = batch.Fetched.Sub(begun)
	if batch.Kind == change.Live {
		s.frontier, s.rest = after(&batch), RestNone
		if page.More {
			s.rest = RestMore
		}
	} else {
		batch.From = s.frontier // what a tick reports as its position
	}
	s.recall(batch.Events)
	return batch, nil
}

// recall tells the event that the poller waits at (ordering=source) of its attempts, whichever way it comes.
func (s *checkpointed) recall(events []change.Event) {
	waited := s.parked.Load().entries[sourceKey]
	if waited == nil || s.feed.cfg.Ordering != OrderSource {
		return
	}
	for i := range events {
		if e := &events[i]; e.ID == waited.ID {
			e.Attempts, e.Refused = waited.Attempts, waited.Cause == Refused.String()
		}
	}
}

// after is the position after a whole batch.
func after(b *change.Batch) change.Cursor {
	switch {
	case b.To != nil:
		return b.To
	case len(b.Events) > 0:
		return b.Events[len(b.Events)-1].Position()
	default:
		return b.From
	}
}

// read fetches one page, and refuses that of another database.
func (s *checkpointed) read(ctx context.Context, doing string, r Range, limit Limit) (Page, error) {
	page, err := s.feed.source.Fetch(ctx, r, limit)
	if errors.Is(err, ErrGap) {
		return Page{}, &Fault{SourceGap, fmt.Errorf("%s: %w. %s", doing, NameDocument(err, s.feed.cfg.address()), s.waysOn())}
	}
	if err != nil {
		return Page{}, s.feed.cfg.sourceFault(doing, err)
	}
	if err := s.sameLife(page.Incarnation); err != nil {
		return Page{}, err
	}
	if err := s.sameTable(ctx, page.Table); err != nil {
		return Page{}, err
	}
	s.mu.Lock()
	s.warnings = append(s.warnings, page.Warnings...)
	if page.NullCursors >= 0 {
		s.nulls = page.NullCursors
	}
	s.mu.Unlock()
	return page, nil
}
