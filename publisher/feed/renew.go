package feed

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

// marginOf is how long before its claims can expire a session stops using them. A request that is just being sent needs
// some time, and clocks differ in speed.
func marginOf(ttl time.Duration) time.Duration {
	return max(min(ttl/10, 2*time.Second), 100*time.Millisecond)
}

// claimCount counts the claims that a session knows it holds. A claim counts from the answer that granted it, until the
// request that frees it begins (least) or is answered (held).
type claimCount struct {
	held  int
	going int // of these, those that a request under way frees
	least int // how many the renewal under way must find
}

// freeing notes that a request which frees n claims begins. freed notes that it was answered.
func (c *claimCount) freeing(n int) { c.going, c.least = c.going+n, c.least-n }
func (c *claimCount) freed(n int)   { c.going, c.held = c.going-n, c.held-n }

// keepAlive renews all claims of the session every third of their ttl, until the deadline has passed. When the process
// dies, others take over as soon as the claims have expired.
func (s *session) keepAlive(ctx context.Context, begun time.Time) {
	defer close(s.renewalEnded)
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
		// It counts from when the request began: the database may have counted the ttl from any moment since.
		s.deadline.Extend(begun.Add(ttl - marginOf(ttl)))
	}
}

// renew makes one attempt. It may take a third of the ttl: a connection that hangs must leave time for another attempt.
func (s *session) renew(ctx context.Context) error {
	ttl := s.cfg.ClaimTTL
	ctx, cancel := context.WithTimeout(ctx, min(ttl/3, s.deadline.Left()))
	defer cancel()
	s.mu.Lock()
	s.claims.least = s.claims.held - s.claims.going
	s.mu.Unlock()
	n, err := s.outbox.Claims.Renew(ctx, s.owner, ttl)
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
