package feed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

// partitions is what a session of the strategy partitioned knows of partitions. Next alone uses it.
type partitions struct {
	start      int // where it begins to look for free ones
	count      int // partitions in force
	held       []int
	leaving    []int // of held: no longer fetched, and released when nothing of them is in flight
	surveyed   time.Time
	emptySince time.Time // since when it has none; zero while it has some
}

// surveyIdle is how often a session surveys the claims while it has no work, or no partition.
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
	if time.Since(s.partitions.surveyed) < every {
		return nil
	}
	if err := s.survey(ctx); err != nil {
		return faultOf(poller.LeaseAcquireFailed, "looking at who holds which partitions", err)
	}
	return nil
}

// survey asks who holds which partitions. It takes what the session lacks of its share, or begins to hand over what is
// beyond it.
func (s *session) survey(ctx context.Context) error {
	found, err := s.checkStrategy(ctx, s.cfg.Partitions)
	if err != nil {
		return err
	}
	p := &s.partitions
	p.surveyed = time.Now()
	if p.count != found.Partitions && len(p.held) > 0 {
		// The number changes only while nobody holds a claim: ours have ended.
		s.deadline.End(claims.ErrLost)
		return fmt.Errorf("%w: the number of partitions has changed from %d to %d", claims.ErrLost, p.count,
			found.Partitions)
	}
	p.count = found.Partitions
	plan := claims.PlanOf(&found, s.owner, p.held, s.shared.preferred(), p.start)
	p.leaving = plan.Leave // it keeps partitions that were leaving, and are part of its share again
	if len(plan.Leave) > 0 {
		s.round = round{} // its cursor may be in what leaves
		return s.handOver(ctx)
	}
	if len(plan.Take) > 0 {
		got, err := s.take(ctx, partitionShards(plan.Take))
		if err != nil {
			return err
		}
		for _, shard := range got {
			if i, ok := claims.PartitionOf(shard); ok {
				p.held = append(p.held, i)
			}
		}
		slices.Sort(p.held)
		s.round = round{}
		s.bringForward(0) // the owner before may have left FAILED events
	}
	return s.endIfEmpty(&found)
}

// partitionShards names the shards of partitions.
func partitionShards(partitions []int) []string {
	names := make([]string, len(partitions))
	for k, i := range partitions {
		names[k] = claims.PartitionShard(i)
	}
	return names
}

// endIfEmpty ends a session that has had no partition for a ttl: there are more instances than partitions. It waits
// that long, because others hand partitions over only to a member that is live.
func (s *session) endIfEmpty(found *claims.Survey) error {
	p := &s.partitions
	switch {
	case len(p.held) > 0:
		p.emptySince = time.Time{}
		return nil
	case p.emptySince.IsZero():
		p.emptySince = time.Now()
		return nil
	case time.Since(p.emptySince) < s.cfg.ClaimTTL:
		return nil
	}
	return skipped(slices.Compact(slices.Sorted(maps.Values(found.Held))))
}

// handOver releases the leaving partitions of which nothing is in flight any more. After a crash before that, their
// claims expire.
func (s *session) handOver(ctx context.Context) error {
	p := &s.partitions
	if len(p.leaving) == 0 {
		return nil
	}
	s.exclusive <- struct{}{}
	defer func() { <-s.exclusive }()
	s.mu.Lock()
	var free []int
	if !s.inFlight.probing {
		busy := map[int]bool{}
		for _, f := range s.inFlight.events {
			busy[claims.PartitionAt(f.bucket, p.count)] = true
		}
		for _, i := range p.leaving {
			if !busy[i] {
				free = append(free, i)
			}
		}
	}
	if len(free) > 0 {
		s.claims.freeing(len(free))
	}
	s.mu.Unlock()
	if len(free) == 0 {
		return nil
	}
	if err := s.outbox.Claims.Release(ctx, s.owner, partitionShards(free)); err != nil {
		return err
	}
	gone := func(i int) bool { return slices.Contains(free, i) }
	p.held, p.leaving = slices.DeleteFunc(p.held, gone), slices.DeleteFunc(p.leaving, gone)
	s.mu.Lock()
	s.claims.freed(len(free))
	s.mu.Unlock()
	s.round = round{}
	return nil
}

// ranges are the buckets to fetch from: nil means the whole table. It reports false if there are none.
func (s *session) ranges() ([]claims.Range, bool) {
	switch {
	case s.strategy == claims.Partitioned:
	case s.strategy == claims.Leader && s.outbox.Own && s.cfg.Ordering != poller.OrderSource:
		return []claims.Range{{From: 0, To: claims.Buckets}}, true // the index of pending events leads with the bucket
	default:
		return nil, true
	}
	p := &s.partitions
	active := make([]int, 0, len(p.held))
	for _, i := range p.held {
		if !slices.Contains(p.leaving, i) {
			active = append(active, i)
		}
	}
	return claims.RangesOf(active, p.count), len(active) > 0
}
