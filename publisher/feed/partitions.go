package feed

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

// surveyIdle is how often a session of the strategy partitioned surveys the claims while it has no work, or no
// partition.
const surveyIdle = 2 * time.Second

// rebalance keeps a session's partitions at its share.
func (s *session) rebalance(ctx context.Context) error {
	if s.strategy != claims.Partitioned || s.only >= 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.handOver(ctx); err != nil {
		return faultOf(poller.LeaseAcquireFailed, "handing partitions over", err)
	}
	every := s.cfg.ClaimTTL / 3
	if s.idle {
		every = min(every, surveyIdle)
	}
	if time.Since(s.hold.surveyed) < every {
		return nil
	}
	return faultOf(poller.LeaseAcquireFailed, "looking at who holds which partitions", s.balance(ctx))
}

// balance is for the strategy partitioned. It takes what the session lacks of its share, or begins to hand over what is
// beyond it.
func (s *session) balance(ctx context.Context) error {
	found, err := s.survey(ctx)
	if err != nil {
		return err
	}
	h := s.hold
	h.surveyed = time.Now()
	held := h.partitions()
	plan := claims.PlanOf(&found, s.owner, held, s.start)
	h.leaving = plan.Leave // it keeps partitions that were leaving, and are part of its share again
	if len(plan.Leave) > 0 {
		s.round = round{} // its cursor may be in what leaves
		return s.handOver(ctx)
	}
	if len(plan.Take) > 0 || !slices.Contains(found.Members, s.owner) {
		if _, err := s.take(ctx, true, func(v *claims.Survey) []int {
			return claims.PlanOf(v, s.owner, held, s.start).Take
		}); err != nil {
			return err
		}
	}
	return s.endIfEmpty(&found)
}

// endIfEmpty ends a session that has had no partition for a ttl: there are more instances than partitions. It waits
// that long, because others hand partitions over only to a member that is live.
func (s *session) endIfEmpty(found *claims.Survey) error {
	h := s.hold
	switch {
	case len(h.partitions()) > 0:
		h.emptySince = time.Time{}
		return nil
	case h.emptySince.IsZero():
		h.emptySince = time.Now()
		return nil
	case time.Since(h.emptySince) < s.cfg.ClaimTTL:
		return nil
	}
	return skipped(slices.Compact(slices.Sorted(maps.Values(found.Held))))
}

// pick is for the strategy skip_locked. It takes some partitions that are free and have work, for one batch, and gives
// those back that it took for earlier ones and of which nothing is in flight.
func (s *session) pick(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if err := s.giveBack(ctx); err != nil {
		return err
	}
	found, err := s.survey(ctx)
	if err != nil {
		return err
	}
	held, n := s.hold.partitions(), found.Partitions
	s.others = false
	free := found.Free(s.owner, held)
	if len(free) == 0 {
		return nil
	}
	if free, err = s.outbox.Events.Work(ctx, free, n); err != nil || len(free) == 0 {
		return err
	}
	rand.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	if s.width == 0 {
		s.width = n
	}
	some := free[:min(len(free), s.width)]
	_, err = s.take(ctx, false, func(v *claims.Survey) []int {
		if v.Partitions != n {
			return nil
		}
		return slices.DeleteFunc(v.Free(s.owner, held), func(i int) bool { return !slices.Contains(some, i) })
	})
	s.others = len(free) > len(some)
	s.round = round{bucket: claims.BucketsOf(some[0], n).From} // a partition that chance has put first
	return err
}

// fewest is how many partitions are taken for one batch at least, so that the lanes have aggregates to send side by
// side.
const fewest = 8

// widen decides how many partitions the next batch is looked for in: half as many after a page that was full, so that
// other instances find some, and otherwise twice as many.
func (s *session) widen(full bool) {
	if s.width = 2 * s.width; full {
		s.width = max(s.width/4, fewest)
	}
	s.width = min(s.width, s.hold.count)
}

// giveBack is handOver of all partitions that the session holds, but the first few that have a busy aggregate. What
// shares a partition with it would wait for all that is in flight of it: nothing is fetched from one that leaves.
func (s *session) giveBack(ctx context.Context) error {
	s.mu.Lock()
	busy := map[int]bool{}
	for _, l := range s.inFlight.of {
		if l.events >= busyFrom {
			busy[claims.PartitionAt(l.bucket, s.hold.count)] = true
		}
	}
	s.mu.Unlock()
	kept := 0
	s.hold.leaving = slices.DeleteFunc(s.hold.partitions(), func(i int) bool {
		if busy[i] {
			kept++
		}
		return busy[i] && kept <= fewest
	})
	return s.handOver(ctx)
}

// handOver releases the leaving partitions of which nothing is in flight any more. After a crash before that, their
// claims expire.
func (s *session) handOver(ctx context.Context) error {
	h := s.hold
	if len(h.leaving) == 0 {
		return nil
	}
	h.exclusive <- struct{}{}
	defer func() { <-h.exclusive }()
	s.mu.Lock()
	var free []int
	if !s.inFlight.probing {
		busy := map[int]bool{}
		for _, f := range s.inFlight.events {
			busy[claims.PartitionAt(f.bucket, h.count)] = true
		}
		free = slices.DeleteFunc(slices.Clone(h.leaving), func(i int) bool { return busy[i] })
	}
	s.mu.Unlock()
	if len(free) == 0 {
		return nil
	}
	if err := h.release(ctx, free); err != nil {
		return err
	}
	s.round = round{}
	return nil
}

// ranges are the buckets of partitions that the session holds. All events of a table without buckets are in bucket 0,
// and so are those that have one order. It reports false if there are none.
func (s *session) ranges(partitions []int) ([]claims.Range, bool) {
	if !s.outbox.Own {
		return []claims.Range{{From: 0, To: 1}}, true
	}
	return claims.RangesOf(partitions, s.hold.count), len(partitions) > 0
}

// raise makes a fencing token the session's.
func (s *session) raise(token uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = max(s.token, token)
}

// survey asks who holds what. It ends the session where nobody can tell how many partitions the claims are of.
func (s *session) survey(ctx context.Context) (claims.Survey, error) {
	found, err := s.hold.claims.Survey(ctx)
	if err != nil {
		return found, err
	}
	return found, s.agree(&found)
}

// agree takes over the number of partitions. It changes only while nothing is live: our claims have ended then.
func (s *session) agree(found *claims.Survey) error {
	h := s.hold
	switch {
	case found.Partitions == 0:
		return &poller.Fault{Event: poller.LeaseAcquireSkipped,
			Err: fmt.Errorf("the outbox is being published by %s, and its claims table does not say in how many partitions "+
				"(claims of an earlier version do not): this instance begins when that has stopped", strings.Join(found.Owners, ", "))}
	case h.count != found.Partitions && len(h.partitions()) > 0:
		h.deadline.End(claims.ErrLost)
		return fmt.Errorf("%w: the number of partitions has changed from %d to %d", claims.ErrLost, h.count,
			found.Partitions)
	}
	h.count = found.Partitions
	return nil
}

// take claims what choose returns.
func (s *session) take(ctx context.Context, join bool, choose func(*claims.Survey) []int) (claims.Taken, error) {
	got, err := s.hold.take(ctx, join, choose)
	if err != nil {
		return got, err
	}
	s.raise(got.Token)
	if len(got.Partitions) > 0 {
		s.hold.count = got.Survey.Partitions
		s.round = round{}
		s.bringForward(0) // the owner before may have left FAILED events
		return got, nil
	}
	return got, s.agree(&got.Survey)
}

// skipped says who publishes instead of this session.
func skipped(by []string) error {
	who := strings.Join(by, ", ")
	if who == "" {
		who = "another instance"
	}
	return &poller.Fault{Event: poller.LeaseAcquireSkipped, Err: fmt.Errorf("the outbox is being published by %s", who)}
}
