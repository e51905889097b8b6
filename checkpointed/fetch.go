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

// maxWait is the longest that Next waits for a throttled backfill, or for a retry that is on its way, when nothing else
// is to be done. Live rows wait as long.
const maxWait = 250 * time.Millisecond

// fetch decides what comes next: retries that are due, in turn with live rows, late ones and chunks of a backfill.
// Parked rows that are due again before all were tried once would otherwise be all that is ever sent. Where much waits,
// rows that follow a retry in flight come before live ones: those of their keys would take the last places, and end the
// session.
func (s *session) fetch(ctx context.Context, limit poller.Limit) (change.Batch, details, error) {
	s.rest = poller.RestUnknown
	if s.feed.parking.Wait() {
		return change.Batch{}, details{}, nil
	}
	if s.feed.gap && s.feed.parking.Full() == nil {
		s.feed.gap = false
		batch, about, err := s.fetchLive(ctx, limit)
		batch.More = true // all else comes after this
		return batch, about, err
	}
	crowded := s.feed.parking.Crowded()
	if s.retried && s.feed.parking.Full() == nil && (!crowded || !s.awaits()) {
		s.retried = false
		batch, about, err := s.fetchOthers(ctx, limit, false)
		switch {
		case errors.Is(err, poller.ErrGap), err == nil && (len(batch.Events) > 0 || about.mustStore()):
			batch.More = true // retries may be due
			return batch, about, err
		case err != nil && ctx.Err() == nil:
			s.failAtEnd(err) // retries need not wait for rows that cannot be read, either
		}
	}
	awaits := s.awaits() // before Retry: what is stored after this is waited for below
	batch, about, err := s.retry(ctx, limit)
	s.retried = len(batch.Events) > 0
	if err != nil && ctx.Err() == nil {
		s.failAtEnd(err) // others need not wait for rows that cannot be read; the next tick tries again
		err = nil
	}
	if err != nil || len(batch.Events) > 0 || about.mustStore() {
		return batch, about, err
	}
	if awaits && crowded {
		s.awaitStored(ctx, maxWait)
		return change.Batch{More: true}, details{}, nil
	}
	if err := s.feed.parking.Full(); err != nil {
		return change.Batch{}, details{}, err
	}
	return s.fetchOthers(ctx, limit, awaits)
}

// fetchOthers fetches what is no retry. Where there is nothing it waits, if retries are awaited.
func (s *session) fetchOthers(ctx context.Context, limit poller.Limit, awaits bool) (batch change.Batch, about details,
	err error) {
	if s.apart.live = !s.apart.live; s.apart.live || s.apart.alone {
		batch, about, err = s.fetchApart(ctx, limit)
		if err != nil || len(batch.Events) > 0 || about.mustStore() {
			return batch, about, err
		}
	}
	if len(s.apart.keys) > 0 {
		return s.fetchBesides(ctx, limit, awaits)
	}
	backfills := s.backfills()
	if backfills && s.backfill.isNext && s.feed.throttle.wait(s.backfill.ID) <= 0 {
		return s.fetchChunk(ctx, limit)
	}
	batch, about, err = s.fetchLive(ctx, limit)
	if err != nil || !backfills && !awaits {
		return batch, about, err
	}
	idle := len(batch.Events) == 0 && !batch.More
	s.backfill.isNext = true
	batch.More = true
	switch {
	case !idle:
	case awaits:
		s.awaitStored(ctx, maxWait)
	default:
		if err := clock.Sleep(ctx, min(s.feed.throttle.wait(s.backfill.ID), maxWait)); err != nil {
			return change.Batch{}, details{}, &poller.Fault{Event: poller.FetchFailed, Err: err}
		}
	}
	return batch, about, nil
}

// fetchBesides fetches live rows where order keys are read apart. A backfill waits: it would overtake their rows.
func (s *session) fetchBesides(ctx context.Context, limit poller.Limit, awaits bool) (batch change.Batch, about details,
	err error) {
	if !s.apart.alone {
		batch, about, err = s.fetchLive(ctx, limit)
	}
	if err != nil || !awaits && !s.readsApart() {
		return batch, about, err
	}
	if len(batch.Events) == 0 && !batch.More {
		s.awaitStored(ctx, apartWait)
	}
	batch.More = true
	return batch, about, nil
}

// retry reads the parked rows again that are due.
func (s *session) retry(ctx context.Context, limit poller.Limit) (change.Batch, details, error) {
	batch, retries, err := s.feed.parking.Retry(ctx, limit)
	if err != nil {
		err = s.feed.cfg.sourceFault(err)
	}
	batch.From = s.frontier
	return batch, details{retries: retries, frees: retries.More() || len(s.apart.keys) > 0}, err
}

// awaits reports whether rows can be retried as soon as a batch that is in flight is settled.
func (s *session) awaits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaited > 0
}

// unsettled is how many events are in flight.
func (s *session) unsettled() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, about := range s.inFlight {
		n += len(about.events)
	}
	return n
}

// awaitStored waits until a settlement is stored, or for so long.
func (s *session) awaitStored(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-s.stored:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// fetchLive fetches live rows, or late ones where the tracker says so.
func (s *session) fetchLive(ctx context.Context, limit poller.Limit) (batch change.Batch, about details, err error) {
	if err := s.recordedGap(); err != nil {
		return batch, about, err
	}
	room := s.feed.parking.Room(s.unsettled())
	if limit.Rows = min(limit.Rows, room); limit.Rows <= 0 {
		s.awaitStored(ctx, maxWait)
		batch.More = true
		return batch, about, nil
	}
	step := s.feed.late.Next(ctx)
	if step.Idle {
		return batch, about, nil
	}
	begun := time.Now()
	page := step.Page
	if page == nil {
		limit.Rows = min(max(limit.Rows, step.Rows), room)
		read, err := s.read(ctx, step.Range, limit)
		if err != nil {
			s.foundGap(err)
			return batch, about, err
		}
		page = &read
	}
	step.Leave = s.leaves(&step, limit)
	batch, err = s.feed.late.Fetched(step, page)
	about.begun, s.apart.begun = s.apart.begun, nil
	if err != nil {
		// what is dated rightly need not wait
		s.failAtEnd(&poller.Fault{Event: poller.NormalizeFailed, Err: fmt.Errorf("fetching rows: %w", err)})
	}
	batch.Fetched = time.Now()
	batch.FetchTime = batch.Fetched.Sub(begun)
	if batch.Kind == change.Live {
		s.frontier, s.rest = endOf(&batch), poller.RestNone
		// What is read apart, and the rows of a snapshot, were never sent before.
		if page.More || len(s.apart.keys) > 0 || s.backfill.Whole && !s.backfill.drained {
			s.rest = poller.RestMore
		}
	} else {
		batch.From = s.frontier // what a tick reports as its position
	}
	return batch, about, nil
}
