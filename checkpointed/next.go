package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Next fetches the next batch, and takes the lease when it is the first with work.
func (s *session) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	for adoptions := 0; ; adoptions++ {
		grant, err := s.next(ctx, limit)
		if s.feed.cfg.Resync && errors.Is(err, poller.ErrGap) {
			err = s.resync(ctx, err)
		}
		var moved *state.MovedError
		switch {
		case errors.Is(err, errEnded):
			return poller.Grant{Ended: true}, nil // the settlement that ended it has the fault, where there is one
		case !errors.As(err, &moved):
			grant.Accepted = s.snapshot.Doc.Checkpoint.AcceptedAt
			return grant, err
		case adoptions == maxAdoptions:
			return poller.Grant{}, &poller.Fault{Event: poller.LeaseAcquireFailed,
				Err: fmt.Errorf("taking the lease: %w, again and again", err)}
		}
		// An operator, or an owner that has finished since, changed the document: the rows may be old.
		if err := s.adopt(ctx, moved.Snapshot); err != nil {
			return poller.Grant{}, err
		}
	}
}

func (s *session) next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	if err := s.mayGoOn(ctx); err != nil {
		return poller.Grant{}, err
	}
	batch, about, err := s.fetch(ctx, limit)
	if err != nil {
		return poller.Grant{}, err
	}
	s.feed.parking.Recall(batch.Events)
	if len(batch.Events) == 0 {
		// A window that closed without events is no work: the next one begins where it ended, in memory, and it is stored
		// with what comes after it, or with the release.
		batch.To = nil
	}
	if len(batch.Events) == 0 && !about.mustStore() && !s.feed.late.Due() {
		return poller.Grant{Batch: batch, Rest: s.rest}, nil
	}
	lease, err := s.acquire(ctx)
	if err != nil {
		return poller.Grant{}, err
	}
	if about.retries.Leaves() && len(batch.Events) == 0 && !s.frontier.IsStart() {
		batch.To = s.frontier // so that it is settled: the followers of these rows need not wait for other events
		s.handOut(&batch, about)
		return s.grant(lease, batch), nil
	}
	if len(batch.Events) == 0 {
		s.mu.Lock()
		s.pending = about.after(s.pending) // it goes with the next batch, or with the release
		s.mu.Unlock()
		return poller.Grant{Batch: batch, Rest: s.rest}, nil
	}
	s.handOut(&batch, about)
	return s.grant(lease, batch), nil
}

func (s *session) grant(lease *state.Lease, batch change.Batch) poller.Grant {
	return poller.Grant{
		Batch: batch, Context: lease.Context(), Token: lease.Token(), Origin: s.source.origin(), Check: lease.Check,
		Rest: s.rest, Bounded: s.bounds(),
	}
}

// handOut names a batch and keeps its details until it is settled.
func (s *session) handOut(batch *change.Batch, about details) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches++
	batch.ID = fmt.Sprintf("batch_%s_%04d", batch.Fetched.UTC().Format("20060102_150405"), s.batches)
	about = about.after(s.pending)
	about.events = batch.Events
	s.pending = details{}
	s.inFlight[batch.ID] = &about
	if about.frees {
		s.awaited++
	}
}

// acquire returns the lease, taking it if this is the first batch with work.
func (s *session) acquire(ctx context.Context) (*state.Lease, error) {
	s.mu.Lock()
	lease, ended := s.lease, s.ended
	s.mu.Unlock()
	if ended {
		return nil, errEnded
	}
	if lease != nil {
		return lease, nil
	}
	// Without the caller's cancellation: an acquisition given up half-way could leave a lease that nobody holds.
	lease, err := s.feed.keeper.Acquire(context.WithoutCancel(ctx), s.snapshot)
	var held *state.HeldError
	var moved *state.MovedError
	switch {
	case errors.As(err, &held):
		return nil, &poller.Fault{Event: poller.LeaseAcquireSkipped, Err: held}
	case errors.As(err, &moved):
		return nil, err
	case err != nil:
		return nil, &poller.Fault{Event: poller.LeaseAcquireFailed, Err: fmt.Errorf("taking the lease: %w", err)}
	}
	s.mu.Lock()
	s.lease = lease
	s.mu.Unlock()
	return lease, nil
}

// pauseCheck is how often the document is read to see a pause, where no write shows it anyway.
const pauseCheck = time.Second

// mayGoOn reports errEnded after an incomplete settlement, and a Fault when an operator has paused the poller.
func (s *session) mayGoOn(ctx context.Context) error {
	s.mu.Lock()
	lease, ended, wrote := s.lease, s.ended, s.wrote
	s.mu.Unlock()
	if ended {
		return errEnded
	}
	if lease != nil {
		// A pause that has ended by itself meanwhile ends this tick too. The next tick takes it out.
		if err := pausedFault(lease.Known().Paused, s.feed.cfg.address()); err != nil {
			return err
		}
	}
	if wrote.After(s.checked) {
		s.checked = wrote // the write would have met a change
	}
	if time.Since(s.checked) < pauseCheck {
		return nil
	}
	// A store that falters must not hold up rows: whether the lease still holds is seen elsewhere.
	ctx, cancel := context.WithTimeout(ctx, pauseCheck)
	defer cancel()
	snapshot, err := s.feed.keeper.Load(ctx)
	s.checked = time.Now()
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return pausedFault(snapshot.Paused(), s.feed.cfg.address())
}
