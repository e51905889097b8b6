package publisher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
)

// units is what a session of the strategy partitioned knows of partitions. Next alone uses it.
type units struct {
	start    int // where it begins to look for free ones
	of       int // partitions in force
	has      []int
	leaving  []int // of has: nothing more is fetched of them, and they are released when nothing of them is in flight
	surveyed time.Time
	without  time.Time // since when it has none; zero while it has some
}

// acquire takes what the strategy gives this session. Everything from here on is undone by Close; a crash leaves
// claims that expire.
func (s *session) acquire(ctx context.Context) error {
	var err error
	if s.strategy, err = s.cfg.strategy(s.outbox.own, s.only); err != nil {
		return &poller.Fault{Event: poller.ConfigInvalid, Err: err}
	}
	s.warnings = append(s.warnings, s.outbox.warnings...)
	// A statement given up half-way could take something after Close has given everything back: it is bounded by
	// itself.
	ctx = context.WithoutCancel(ctx)
	begun := time.Now()
	s.deadline = clock.NewDeadline(context.Background(), begun.Add(s.cfg.ClaimTTL-marginOf(s.cfg.ClaimTTL)), errExpired)
	s.kept = make(chan struct{})
	keeping, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.keep(keeping, begun)

	switch {
	case s.strategy == claims.Leader:
		err = s.lead(ctx)
	case s.strategy == claims.SkipLocked:
		err = s.share(ctx)
	case s.only >= 0:
		err = s.takeOnly(ctx)
	default:
		if err = s.join(ctx); err == nil {
			err = s.survey(ctx)
		}
	}
	if err == nil && s.cfg.Ordering == poller.OrderSource && s.cfg.Policy.Block {
		err = s.blockedByDead(ctx)
	}
	if err != nil {
		return faultOf(poller.LeaseAcquireFailed, "claiming the outbox", err)
	}
	return nil
}

// strategy is what is in force for a table.
func (c *feedConfig) strategy(own bool, only int) (claims.Strategy, error) {
	strategy := c.Strategy
	if strategy == "" {
		strategy = claims.Leader
		if own && c.Ordering != poller.OrderSource {
			strategy = claims.Partitioned
		}
	}
	switch {
	case strategy == claims.Partitioned && !own:
		return "", errors.New("source__strategy=partitioned needs a bucket column, and the outbox has none: use leader, or a table of `rowrelay outbox init`")
	case strategy == claims.SkipLocked && !own:
		return "", errors.New("source__strategy=skip_locked needs a table of `rowrelay outbox init`: a mapped one has no state to mark events with; use leader")
	case strategy != claims.Partitioned && only >= 0:
		return "", fmt.Errorf("fan-out by partitions needs source__strategy=partitioned, not %s", strategy)
	}
	return strategy, nil
}

// draw makes a new fencing token the session's.
//
// It is drawn once more after something was taken: whoever held that before drew its last token before its claim
// ended, so that only a token drawn after the taking is surely larger than all under which it was delivered.
func (s *session) draw(ctx context.Context) error {
	token, err := s.outbox.claims.Draw(ctx)
	if err != nil {
		return fmt.Errorf("drawing a fencing token: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = max(s.token, token)
	return nil
}

// take claims units, and returns those that it got.
func (s *session) take(ctx context.Context, units []string) ([]string, error) {
	if err := s.draw(ctx); err != nil {
		return nil, err
	}
	s.exclusive <- struct{}{}
	defer func() { <-s.exclusive }()
	s.mu.Lock()
	token := s.token
	s.mu.Unlock()
	got, err := s.outbox.claims.Take(ctx, s.owner, token, units, s.cfg.ClaimTTL)
	if err != nil {
		return nil, fmt.Errorf("claiming %d units: %w", len(units), err)
	}
	if len(got) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	s.claims.held += len(got)
	s.mu.Unlock()
	return got, s.draw(ctx)
}

// join makes the session a live member, of any strategy: a survey by one who has not joined may be overtaken by
// another strategy, or another number of partitions.
func (s *session) join(ctx context.Context) error {
	return s.outbox.claims.Join(ctx, s.owner, s.cfg.ClaimTTL)
}

// lookAround surveys, and ends the session where another strategy is in force: claims of one are none to another. It
// changes only while no other member and no claim is live, so that a session which meets a change later has lost its
// own.
func (s *session) lookAround(ctx context.Context, partitions int) (claims.Survey, error) {
	found, err := s.outbox.claims.Survey(ctx, s.owner, claims.Force{Strategy: s.strategy, Partitions: partitions})
	if err != nil || found.Strategy == s.strategy {
		return found, err
	}
	s.deadline.End(claims.ErrLost)
	who := "whose claims have not expired yet"
	if others := s.others(found.Members); len(others) > 0 {
		who = "by " + strings.Join(others, ", ")
	}
	return found, &poller.Fault{Event: poller.LeaseAcquireSkipped,
		Err: fmt.Errorf("the outbox is being published with source__strategy=%s, %s: "+
			"this instance's source__strategy=%s takes effect when no other instance is live", found.Strategy, who, s.strategy)}
}

// others are members without this session.
func (s *session) others(members []string) []string {
	return slices.DeleteFunc(slices.Clone(members), func(m string) bool { return m == s.owner })
}

func (s *session) lead(ctx context.Context) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	found, err := s.lookAround(ctx, 0)
	if err != nil {
		return err
	}
	if found.Leader != "" {
		return skipped([]string{found.Leader})
	}
	got, err := s.take(ctx, []string{claims.LeaderShard})
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return skipped(s.others(found.Members))
	}
	return nil
}

// share is for skip_locked: aggregates are claimed as they are picked.
func (s *session) share(ctx context.Context) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	if _, err := s.lookAround(ctx, 0); err != nil {
		return err
	}
	return s.draw(ctx)
}

func (s *session) takeOnly(ctx context.Context) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	found, err := s.lookAround(ctx, s.cfg.Partitions)
	if err != nil {
		return err
	}
	s.units.of = found.Partitions
	if s.only >= found.Partitions {
		s.warn(fmt.Sprintf("partition %d was asked for, and there are %d: a message from before their number was changed",
			s.only, found.Partitions))
		return nil
	}
	if by := found.Held[s.only]; by != "" {
		return skipped([]string{by})
	}
	got, err := s.take(ctx, []string{claims.PartitionShard(s.only)})
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return skipped(nil)
	}
	s.units.has = []int{s.only}
	return nil
}

func skipped(by []string) error {
	who := strings.Join(by, ", ")
	if who == "" {
		who = "another instance"
	}
	return &poller.Fault{Event: poller.LeaseAcquireSkipped, Err: fmt.Errorf("the outbox is being published by %s", who)}
}

// blockedByDead is for ordering=source, where nothing comes behind a dead letter before an operator has decided.
func (s *session) blockedByDead(ctx context.Context) error {
	f, err := s.outbox.events.Figures(ctx)
	if err != nil {
		return err
	}
	if f.Dead > 0 {
		return &poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("the outbox is blocked by a dead letter (ordering=source, "+
				"after_dead_letter=block): `rowrelay outbox requeue %s` or `rowrelay outbox discard %s` lets it go on",
				s.cfg.Poller, s.cfg.Poller)}
	}
	return nil
}

// surveyIdle is how often a session that has nothing to do, or nothing to do it with, looks at who holds what.
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
	if time.Since(s.units.surveyed) < every {
		return nil
	}
	if err := s.survey(ctx); err != nil {
		return faultOf(poller.LeaseAcquireFailed, "looking at who holds which partitions", err)
	}
	return nil
}

// survey looks at who holds what, and takes or begins to hand over what the session's share says.
func (s *session) survey(ctx context.Context) error {
	found, err := s.lookAround(ctx, s.cfg.Partitions)
	if err != nil {
		return err
	}
	u := &s.units
	u.surveyed = time.Now()
	if u.of != found.Partitions && len(u.has) > 0 {
		// It changes only while nobody holds anything, so that our claims have ended.
		s.deadline.End(claims.ErrLost)
		return fmt.Errorf("%w: the number of partitions has changed from %d to %d", claims.ErrLost, u.of,
			found.Partitions)
	}
	u.of = found.Partitions
	p := claims.PlanOf(&found, s.owner, u.has, s.shared.preferred(), u.start)
	u.leaving = p.Leave // of what was to be handed over, what fits the share again stays
	if len(p.Leave) > 0 {
		s.pass = pass{} // it may be in what is left
		return s.handOver(ctx)
	}
	if len(p.Take) > 0 {
		names := make([]string, len(p.Take))
		for k, i := range p.Take {
			names[k] = claims.PartitionShard(i)
		}
		got, err := s.take(ctx, names)
		if err != nil {
			return err
		}
		for _, unit := range got {
			if i, ok := claims.PartitionOf(unit); ok {
				u.has = append(u.has, i)
			}
		}
		slices.Sort(u.has)
		s.pass = pass{}
		s.bringForward(0) // who had them before may have left FAILED events
	}
	return s.without(&found)
}

// without ends a session that has got no partition for a ttl. It stays that long, because whoever holds more than its
// share hands it over only to a member that is there; what it has then waited for in vain is an instance too many.
func (s *session) without(found *claims.Survey) error {
	u := &s.units
	switch {
	case len(u.has) > 0:
		u.without = time.Time{}
		return nil
	case u.without.IsZero():
		u.without = time.Now()
		return nil
	case time.Since(u.without) < s.cfg.ClaimTTL:
		return nil
	}
	return skipped(slices.Compact(slices.Sorted(maps.Values(found.Held))))
}

// handOver releases those of the partitions beyond the share of which nothing is in flight any more. A crash before
// that leaves them to their expiry.
func (s *session) handOver(ctx context.Context) error {
	u := &s.units
	if len(u.leaving) == 0 {
		return nil
	}
	s.exclusive <- struct{}{}
	defer func() { <-s.exclusive }()
	s.mu.Lock()
	var free []int
	if !s.flights.probing {
		busy := map[int]bool{}
		for _, f := range s.flights.of {
			busy[claims.PartitionAt(f.bucket, u.of)] = true
		}
		for _, i := range u.leaving {
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
	names := make([]string, len(free))
	for k, i := range free {
		names[k] = claims.PartitionShard(i)
	}
	if err := s.outbox.claims.Release(ctx, s.owner, names); err != nil {
		return err
	}
	gone := func(i int) bool { return slices.Contains(free, i) }
	u.has, u.leaving = slices.DeleteFunc(u.has, gone), slices.DeleteFunc(u.leaving, gone)
	s.mu.Lock()
	s.claims.freed(len(free))
	s.mu.Unlock()
	s.pass = pass{}
	return nil
}

// ranges are the buckets to be fetched of: nil means the whole table. It reports false where there is none.
func (s *session) ranges() ([]claims.Range, bool) {
	switch {
	case s.strategy == claims.Partitioned:
	case s.strategy == claims.Leader && s.outbox.own && s.cfg.Ordering != poller.OrderSource:
		return []claims.Range{{From: 0, To: claims.Buckets}}, true // the index of pending events leads with the bucket
	default:
		return nil, true
	}
	u := &s.units
	active := make([]int, 0, len(u.has))
	for _, i := range u.has {
		if !slices.Contains(u.leaving, i) {
			active = append(active, i)
		}
	}
	return claims.RangesOf(active, u.of), len(active) > 0
}
