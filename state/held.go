package state

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/alive"
)

// grace is how long takers wait beyond the end of a lease that was not released: half the ttl, at most as long as
// after a death, for clocks that differ and writes that are under way. A document that says no ttl gets the longest.
func grace(ttl time.Duration) time.Duration {
	if ttl <= 0 {
		return alive.Grace
	}
	return min(ttl/2, alive.Grace)
}

// Held says who holds the lease, judged by the store's clock as it must be by now; nil when it may be acquired: nobody
// owns it, or it expired longer ago than the grace. A holder that is known to have died, as a process of this machine
// may be, has the grace only: for so long its last requests may still be under way. Our own owner id is not special,
// because an earlier life of this instance may still be delivering.
func (s *Snapshot) Held() *HeldError {
	l := &s.Doc.Lease
	if l.OwnerID == "" {
		return nil
	}
	now := s.Now()
	left := l.ExpiresAt.Add(grace(l.TTL)).Sub(now)
	if ago, died := alive.Died(s.alive, l.LeaseID); died {
		left = min(left, grace(l.TTL)-ago)
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
