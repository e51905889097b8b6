package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
)

// acquire takes the claims that the strategy gives this session. Close gives them back. After a crash they expire.
func (s *session) acquire(ctx context.Context) error {
	var err error
	if s.strategy, err = s.cfg.strategy(s.outbox.Own, s.only); err != nil {
		return &poller.Fault{Event: poller.ConfigInvalid, Err: err}
	}
	s.warnings = append(s.warnings, s.outbox.Warnings...)
	// A statement given up half-way could take a claim after Close has given all back. Each is bounded by source__timeout.
	ctx = context.WithoutCancel(ctx)
	begun := time.Now()
	s.deadline = clock.NewDeadline(context.Background(), begun.Add(s.cfg.ClaimTTL-marginOf(s.cfg.ClaimTTL)), errExpired)
	s.renewalEnded = make(chan struct{})
	keeping, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.keepAlive(keeping, begun)

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

// StrategyFor is the strategy for a table: that of the settings, or the one that suits the table.
func (c *Config) StrategyFor(own bool) claims.Strategy {
	switch {
	case c.Strategy != "":
		return c.Strategy
	case own && c.Ordering != poller.OrderSource:
		return claims.Partitioned
	}
	return claims.Leader
}

// strategy is StrategyFor a table, if that can be.
func (c *Config) strategy(own bool, only int) (claims.Strategy, error) {
	strategy := c.StrategyFor(own)
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
// A token is drawn again after each claim. The owner before drew its last token before its claim ended: only a token
// drawn after ours is surely larger than all under which it delivered.
func (s *session) draw(ctx context.Context) error {
	token, err := s.outbox.Claims.Draw(ctx)
	if err != nil {
		return fmt.Errorf("drawing a fencing token: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = max(s.token, token)
	return nil
}

// take claims shards, and returns those that it got.
func (s *session) take(ctx context.Context, shards []string) ([]string, error) {
	if err := s.draw(ctx); err != nil {
		return nil, err
	}
	s.exclusive <- struct{}{}
	defer func() { <-s.exclusive }()
	s.mu.Lock()
	token := s.token
	s.mu.Unlock()
	got, err := s.outbox.Claims.Take(ctx, s.owner, token, shards, s.cfg.ClaimTTL)
	if err != nil {
		return nil, fmt.Errorf("claiming %d shards: %w", len(shards), err)
	}
	if len(got) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	s.claims.held += len(got)
	s.mu.Unlock()
	return got, s.draw(ctx)
}

// join makes the session a live member. It comes before a survey: otherwise another strategy, or another number of
// partitions, could come into force after it.
func (s *session) join(ctx context.Context) error {
	return s.outbox.Claims.Join(ctx, s.owner, s.cfg.ClaimTTL)
}

// checkStrategy surveys the claims. It ends the session if another strategy is in force: the claims of one strategy
// mean nothing to another. The strategy changes only while no other member and no claim is live, so a session that
// finds it changed later has lost its claims.
func (s *session) checkStrategy(ctx context.Context, partitions int) (claims.Survey, error) {
	found, err := s.outbox.Claims.Survey(ctx, s.owner, claims.Force{Strategy: s.strategy, Partitions: partitions})
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

// lead takes the claim of the whole outbox.
func (s *session) lead(ctx context.Context) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	found, err := s.checkStrategy(ctx, 0)
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

// share joins under skip_locked: aggregates are claimed as they are picked.
func (s *session) share(ctx context.Context) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	if _, err := s.checkStrategy(ctx, 0); err != nil {
		return err
	}
	return s.draw(ctx)
}

// takeOnly takes the claim of the one partition that this session is for.
func (s *session) takeOnly(ctx context.Context) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	found, err := s.checkStrategy(ctx, s.cfg.Partitions)
	if err != nil {
		return err
	}
	s.partitions.count = found.Partitions
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
	s.partitions.held = []int{s.only}
	return nil
}

// skipped says who publishes instead of this session.
func skipped(by []string) error {
	who := strings.Join(by, ", ")
	if who == "" {
		who = "another instance"
	}
	return &poller.Fault{Event: poller.LeaseAcquireSkipped, Err: fmt.Errorf("the outbox is being published by %s", who)}
}

// blockedByDead is for ordering=source, where nothing is sent after a dead letter before an operator has decided.
func (s *session) blockedByDead(ctx context.Context) error {
	f, err := s.outbox.Events.Figures(ctx)
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
