package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// commit stores what c has collected; with last it releases the lease in the same write. Where nothing of it has to be
// durable (the memory of late commits is stored now and then), it writes nothing and reports false. Errors are a
// *Fault; it is then not known what is stored.
//
// Nothing of c is shown to others before it is stored. An order key that was free again before that could have a later
// event delivered, and then, after a crash, an earlier one.
func (s *session) commit(ctx context.Context, c *pendingCommit, last bool) (bool, error) {
	s.broken = true
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.rows > 0 {
			s.feed.search = nil // even where it failed: what it settled is not in flight any more
		}
		if s.broken { // an error, or a panic
			// The release may not have been stored, and an expired lease may still be ours: Close tries.
			s.lease, s.ended = c.lease, true
		}
	}()
	wrote, err := s.write(ctx, c, last)
	if err != nil {
		event := poller.CommitFailed
		if errors.Is(err, state.ErrLost) || errors.Is(err, state.ErrExpired) {
			event = poller.LostLease
		}
		return false, &poller.Fault{Event: event, Err: err}
	}
	s.broken, s.unstored = false, !wrote && (s.unstored || c.rows > 0)
	s.feed.parking.Stored(c.parked)
	s.mu.Lock()
	s.awaited -= c.awaited
	s.mu.Unlock()
	select {
	case s.stored <- struct{}{}:
	default:
	}
	return wrote, nil
}

func (s *session) write(ctx context.Context, c *pendingCommit, last bool) (bool, error) {
	beside := c.parked.Changed() || c.backfill != nil || c.apart != nil
	carry := s.feed.late.Commit(last, beside)
	if !beside && !carry.Due {
		return false, nil
	}
	s.mu.Lock()
	commit := state.Commit{
		From: carry.From, To: carry.To, BatchID: c.id, Rows: c.rows,
		Incarnation: s.newIncarnation, Table: s.newTable, Columns: s.source.Columns, Collations: s.source.Collations,
		Late: carry.Late, Backfill: c.backfill, Ends: c.ends, Apart: c.apart, Accepted: c.accepted, Release: last,
	}
	if last {
		s.lease = nil // released by this very commit
	}
	s.mu.Unlock()
	if carry.Object != nil {
		name, err := c.lease.PutObject(ctx, late.MemoryKind, carry.Object)
		if err != nil {
			return false, fmt.Errorf("storing the memory of late commits: %w", err)
		}
		carry.Named(name)
	}
	parked, err := c.parked.Put(ctx, c.lease.PutObject)
	if err != nil {
		return false, err
	}
	commit.Parked = parked
	if err := c.lease.Commit(ctx, commit); err != nil {
		return false, err
	}
	s.mu.Lock()
	s.wrote = time.Now()
	s.mu.Unlock()
	s.feed.late.Stored(carry)
	if parked != nil || carry.Object != nil {
		s.unused++
	}
	if s.unused >= maxUnused || last {
		s.collect(ctx, c.lease)
	}
	return true, nil
}

// commitRest stores what is left when a session ends, and reports whether that released the lease.
func (s *session) commitRest(ctx context.Context, lease *state.Lease) (bool, error) {
	s.mu.Lock()
	rest := s.pending
	s.pending = details{}
	if s.incomplete || len(s.inFlight) > 0 {
		rest.ends, rest.chunks = "", nil // a chunk of it may be among what is not settled
	}
	s.mu.Unlock()
	c := s.newCommit(ctx, lease)
	c.begin(&rest)
	c.settleApart(&change.Batch{}, 0, &rest)
	return s.commit(ctx, c, true)
}

// maxUnused is how many commits leave objects that are not needed any more, before they are removed. collectPatience
// bounds the removal.
const (
	maxUnused       = 16
	collectPatience = 5 * time.Second
)

// collect removes objects that the document does not name any more. It may fail: the next one removes them.
func (s *session) collect(ctx context.Context, lease *state.Lease) {
	if s.unused == 0 {
		return
	}
	s.unused = 0
	ctx, cancel := context.WithTimeoutCause(ctx, collectPatience, poller.ErrLate)
	defer cancel()
	doc := lease.Known()
	if err := lease.Collect(ctx, doc.Objects()...); err != nil {
		s.warn(fmt.Sprintf("side objects that are not needed any more could not be removed, the next commit tries again: %v",
			err))
	}
}

// begin takes what was found out before a batch was fetched.
func (c *pendingCommit) begin(about *details) {
	c.parked.Leave(&about.retries)
	if about.ends != "" {
		c.endBackfill(about.ends)
	}
}
