package state

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Snapshot is the document as it was loaded, with what is needed to replace that very version.
type Snapshot struct {
	Doc     Document
	version Version
	clock   storeClock
	alive   Alive
}

// Now is the earliest that the store's clock can show by now: ages of what the document says are judged by it.
func (s *Snapshot) Now() time.Time { return s.clock.atLeast(time.Now()) }

// Paused is the pause that is in force, judged by the store's clock as it must be by now; nil when there is none.
func (s *Snapshot) Paused() *Paused {
	if p := s.Doc.Paused; p != nil && !p.Over(s.Now()) {
		return p
	}
	return nil
}

// Held says who holds the lease, judged by the store's clock as it must be by now; nil when it may be acquired: nobody
// owns it, or it expired longer ago than the grace. A holder that is known to have died, as a process of this machine
// did, has the grace only: for that long its last requests may still be under way. Our own owner id is not special, because an earlier life of this
// instance may still be delivering.
func (s *Snapshot) Held() *HeldError {
	l := &s.Doc.Lease
	if l.OwnerID == "" {
		return nil
	}
	now := s.Now()
	left := l.ExpiresAt.Add(grace(l.TTL)).Sub(now)
	if mark, _, marked := strings.Cut(l.LeaseID, "."); marked && s.alive != nil {
		if ago, died := s.alive.Died(mark); died {
			left = min(left, grace(l.TTL)-ago)
		}
	}
	if left <= 0 {
		return nil
	}
	held := &HeldError{Owner: l.OwnerID, Token: l.FencingToken, ExpiresIn: left,
		HeartbeatAge: max(now.Sub(l.HeartbeatAt), 0)}
	if l.TTL > 0 && held.HeartbeatAge > l.TTL {
		held.Stale, held.Staleness = true, held.HeartbeatAge-l.TTL
	}
	return held
}

// HeldError says that another holds the lease: nothing is wrong, this tick has nothing to do.
type HeldError struct {
	Owner string
	Token uint64
	// HeartbeatAge is the time since the holder's last sign of life.
	HeartbeatAge time.Duration
	// ExpiresIn is the time until the lease may be taken if no further heartbeat comes, the grace included.
	ExpiresIn time.Duration
	// Stale says that the heartbeat is older than the holder's ttl, Staleness by how much: it has most likely died, or
	// lost its way to the store.
	Stale     bool
	Staleness time.Duration
}

// Error names the holder.
func (e *HeldError) Error() string {
	return fmt.Sprintf("the lease is held by %s (token %d, heartbeat %s ago, to be taken in %s at the earliest)",
		e.Owner, e.Token, e.HeartbeatAge.Round(time.Millisecond), e.ExpiresIn.Round(time.Millisecond))
}

// MovedError says that the document is no longer the one that was loaded, and that nobody holds the lease: an operator
// changed it, or another instance came and went. The caller drops the rows that it fetched and fetches again from
// Snapshot.
type MovedError struct{ Snapshot *Snapshot }

// Error describes the situation.
func (e *MovedError) Error() string {
	return "the state document was changed since it was loaded; its position is now " +
		e.Snapshot.Doc.Checkpoint.Cursor.String()
}

// The ends of a lease, as causes of its context and as errors of its methods.
var (
	// ErrLost: the document proves that the lease is not ours any more.
	ErrLost = errors.New("the lease was lost")
	// ErrExpired: the right ended before the lease could be renewed; nobody may have taken it yet.
	ErrExpired = errors.New("the lease expired before it could be renewed: the state store could not be reached in time, or this process was suspended")
	// ErrReleased: we gave it back.
	ErrReleased = errors.New("the lease was released")
	// ErrNotFrom: the commit was refused, because the stored position is not the one that its batch was fetched from.
	ErrNotFrom = errors.New("the stored position is not the one that the batch was fetched from")
)
