package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
)

// look decides what comes next: retries that are due, then live rows, late ones and chunks of a backfill in turn.
func (s *session) look(ctx context.Context, limit poller.Limit) (change.Batch, note, error) {
	s.rest = poller.RestUnknown
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
	if p := s.parked.Load(); p.count >= s.feed.cfg.Policy.MaxParked && s.feed.cfg.Ordering != poller.OrderSource {
		return change.Batch{}, note{},
			&poller.Fault{Event: poller.HandlerFailed, Err: &parkingFullError{s.feed.cfg.Policy.MaxParked}}
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
			return change.Batch{}, note{}, &poller.Fault{Event: poller.FetchFailed, Err: err}
		}
	}
	return batch, note{}, nil
}

// live fetches live rows, or late ones where it is their turn.
func (s *session) live(ctx context.Context, limit poller.Limit) (change.Batch, error) {
	step := s.feed.late.Next(ctx)
	if step.Idle {
		return change.Batch{}, nil
	}
	begun := time.Now()
	page, err := s.read(ctx, "fetching rows", step.Range, limit)
	if err != nil {
		return change.Batch{}, err
	}
	batch, err := s.feed.late.Fetched(step, &page)
	if err != nil {
		// what is dated rightly need not wait
		s.owe(&poller.Fault{Event: poller.NormalizeFailed, Err: fmt.Errorf("fetching rows: %w", err)})
	}
	batch.Fetched = time.Now()
	batch.FetchTime = batch.Fetched.Sub(begun)
	if batch.Kind == change.Live {
		s.frontier, s.rest = after(&batch), poller.RestNone
		if page.More {
			s.rest = poller.RestMore
		}
	} else {
		batch.From = s.frontier // what a tick reports as its position
	}
	s.recall(batch.Events)
	return batch, nil
}

// recall tells the event that the poller waits at (ordering=source) of its attempts, whichever way it comes.
func (s *session) recall(events []change.Event) {
	waited := s.parked.Load().entries[sourceKey]
	if waited == nil || s.feed.cfg.Ordering != poller.OrderSource {
		return
	}
	for i := range events {
		if e := &events[i]; e.ID == waited.ID {
			e.Attempts, e.Refused = waited.Attempts, waited.Cause == poller.Refused.String()
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
func (s *session) read(ctx context.Context, doing string, r change.Range, limit poller.Limit) (change.Page, error) {
	page, err := s.feed.source.Fetch(ctx, r, limit)
	if errors.Is(err, poller.ErrGap) {
		return change.Page{}, &poller.Fault{Event: poller.SourceGap,
			Err: fmt.Errorf("%s: %w. %s", doing, poller.NameDocument(err, s.feed.cfg.address()), s.waysOn())}
	}
	if err != nil {
		return change.Page{}, s.feed.cfg.sourceFault(doing, err)
	}
	if err := s.sameLife(page.Incarnation); err != nil {
		return change.Page{}, err
	}
	if err := s.sameTable(ctx, page.Table); err != nil {
		return change.Page{}, err
	}
	s.mu.Lock()
	s.warnings = append(s.warnings, page.Warnings...)
	if page.NullCursors >= 0 {
		s.nulls = page.NullCursors
	}
	s.mu.Unlock()
	return page, nil
}
