package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
)

// Why a session's deadline ended, beside ErrLost.
var (
	errExpired  = errors.New("the claims could not be renewed in time, so that they may have expired")
	errReleased = errors.New("the claims were released")
)

// marginOf is how long before its claims can expire a session stops using them: a request that is just being sent,
// and the difference between two clocks' speeds, need some time.
func marginOf(ttl time.Duration) time.Duration {
	return max(min(ttl/10, 2*time.Second), 100*time.Millisecond)
}

// claimCount counts what a session holds, as far as it knows: a claim is held from the answer that granted it until
// the request that frees it begins (least) or is answered (held).
type claimCount struct {
	held  int
	going int // of them, those that a request under way frees
	least int // what the renewal under way must find
}

// freeing notes that a request begins that frees n of them, freed that it was answered.
func (c *claimCount) freeing(n int) { c.going, c.least = c.going+n, c.least-n }
func (c *claimCount) freed(n int)   { c.going, c.held = c.going-n, c.held-n }

// keep renews the session's claims, all together, every third of their ttl, until the deadline has passed. A process
// that dies just stops doing so: others take over when the claims have expired.
func (s *session) keep(ctx context.Context, begun time.Time) {
	defer close(s.kept)
	ttl := s.cfg.ClaimTTL
	again := begun.Add(ttl / 3)
	for {
		if clock.Sleep(ctx, time.Until(again)) != nil || s.deadline.Check() != nil {
			return
		}
		begun := time.Now()
		again = begun.Add(ttl / 3)
		if err := s.renew(ctx); errors.Is(err, claims.ErrLost) {
			s.deadline.End(err)
			return
		} else if err != nil {
			again = time.Now().Add(max(ttl/30, 50*time.Millisecond))
			continue
		}
		// By the time at which the request began: the database may have counted the ttl from any moment since.
		s.deadline.Extend(begun.Add(ttl - marginOf(ttl)))
	}
}

// renew makes one attempt, which may take a third of the ttl: a connection that hangs must leave time for another
// one.
func (s *session) renew(ctx context.Context) error {
	ttl := s.cfg.ClaimTTL
	ctx, cancel := context.WithTimeout(ctx, min(ttl/3, s.deadline.Left()))
	defer cancel()
	s.mu.Lock()
	s.claims.least = s.claims.held - s.claims.going
	s.mu.Unlock()
	n, err := s.outbox.claims.Renew(ctx, s.owner, ttl)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < s.claims.least {
		return fmt.Errorf("%w (%d of %d are left)", claims.ErrLost, n, s.claims.least)
	}
	return nil
}
