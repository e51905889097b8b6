package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// commit stores what a tally holds, with the release where it is the last. Where nothing of it has to be durable (the
// memory of late commits is stored now and then), it writes nothing and reports so. Errors are a *Fault; what is stored
// is then not known.
//
// Nothing of the tally is shown to others before it is stored: an order key that was free again before that could have
// a later event delivered, and then, after a crash, an earlier one.
func (s *session) commit(ctx context.Context, l *tally, last bool) (bool, error) {
	s.broken = true
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.n > 0 {
			s.feed.trail = nil // even where it failed: what it settled is not among the notes any more
		}
		if s.broken { // an error, or a panic
			// The release may not have landed, and an expired lease may still be ours: Close tries.
			s.lease, s.ended = l.lease, true
		}
	}()
	wrote, err := s.write(ctx, l, last)
	if err != nil {
		event := poller.CommitFailed
		if errors.Is(err, state.ErrLost) || errors.Is(err, state.ErrExpired) {
			event = poller.LostLease
		}
		return false, &poller.Fault{Event: event, Err: err}
	}
	s.broken = false
	s.parked.Store(l.draft.done())
	s.gone += l.gone
	s.mu.Lock()
	s.behind -= l.behind
	s.mu.Unlock()
	select {
	case s.landed <- struct{}{}:
	default:
	}
	return wrote, nil
}

func (s *session) write(ctx context.Context, l *tally, last bool) (bool, error) {
	// Told although the commit may fail: a dead letter that is written is there, and must not be passed over in silence.
	s.letters = append(s.letters, l.letters...)
	carry := s.feed.late.Commit(last)
	if !l.draft.changed && l.backfill == nil && !carry.Due {
		return false, nil
	}
	s.mu.Lock()
	c := state.Commit{
		From: carry.From, To: carry.To, BatchID: l.id, Rows: l.n, Incarnation: s.incarnation, Table: s.tableSeen,
		Columns: s.source.Columns,
		Late:    carry.Late, Backfill: l.backfill, Ends: l.ends, Accepted: l.accepted, Release: last,
	}
	if last {
		s.lease = nil // released by this very commit
	}
	s.mu.Unlock()
	if carry.Object != nil {
		name, err := l.lease.PutObject(ctx, late.MemoryKind, carry.Object)
		if err != nil {
			return false, fmt.Errorf("storing the memory of late commits: %w", err)
		}
		carry.Late.Memory.Object = name
	}
	next := l.draft.done()
	if l.draft.changed {
		parked, err := l.putParked(ctx, next)
		if err != nil {
			return false, err
		}
		c.Parked = parked
	}
	if err := l.lease.Commit(ctx, c); err != nil {
		return false, err
	}
	s.mu.Lock()
	s.wrote = time.Now()
	s.mu.Unlock()
	s.feed.late.Stored(carry)
	if c.Parked != nil {
		s.feed.parked = cachedParking{c.Parked.Object, next}
	}
	if c.Parked != nil || carry.Object != nil {
		s.litter++
	}
	if s.litter >= maxLitter || last {
		s.collect(ctx, l.lease)
	}
	return true, nil
}

// commitRest stores what is left when a session ends, and reports whether that released the lease.
func (s *session) commitRest(ctx context.Context, lease *state.Lease) (bool, error) {
	s.mu.Lock()
	rest := s.pending
	s.pending = note{}
	if s.short || len(s.notes) > 0 {
		rest.ends = "" // a chunk of it may be among what is not settled
	}
	s.mu.Unlock()
	l := s.newTally(lease)
	l.begin(&rest)
	return s.commit(ctx, l, true)
}

// putParked writes the object of the parked events. One that no commit names is removed by the next Collect.
func (l *tally) putParked(ctx context.Context, p *parking) (*state.ObjectRef, error) {
	if p.count == 0 {
		return &state.ObjectRef{}, nil
	}
	data, err := EncodeParked(p.list())
	if err != nil {
		return nil, err
	}
	name, err := l.lease.PutObject(ctx, parkedKind, data)
	if err != nil {
		return nil, fmt.Errorf("storing the parked events: %w", err)
	}
	return &state.ObjectRef{Object: name, Count: p.count}, nil
}

// maxLitter is how many commits leave objects behind before they are removed; collectPatience bounds that.
const (
	maxLitter       = 16
	collectPatience = 5 * time.Second
)

// collect removes objects that the document does not name any more, now and then and at the end. It may fail: the next
// one removes them.
func (s *session) collect(ctx context.Context, lease *state.Lease) {
	if s.litter == 0 {
		return
	}
	s.litter = 0
	ctx, cancel := context.WithTimeoutCause(ctx, collectPatience, poller.ErrLate)
	defer cancel()
	doc := lease.Known()
	if err := lease.Collect(ctx, doc.Parked.Object, doc.Late.Memory.Object); err != nil {
		s.warn(fmt.Sprintf("side objects that are not needed any more could not be removed, the next commit tries again: %v",
			err))
	}
}
