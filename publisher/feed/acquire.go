package feed

import (
	"context"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

// acquire takes what the strategy gives this session, or goes on with what the session before it held. Close gives it
// back. After a crash the claims expire.
func (s *session) acquire(ctx context.Context) error {
	if s.strategy = s.cfg.StrategyFor(s.outbox.Own); s.strategy != claims.Partitioned && s.only >= 0 {
		return &poller.Fault{Event: poller.ConfigInvalid,
			Err: fmt.Errorf("fan-out by partitions needs source__strategy=partitioned, not %s", s.strategy)}
	}
	s.warnings = append(s.warnings, s.shared.news(s.outbox.Warnings)...)
	// A statement given up half-way could take a claim after Close has given all back. Each is bounded by source__timeout.
	ctx = context.WithoutCancel(ctx)
	s.begin()
	err := s.takeFirst(ctx)
	if err == nil {
		err = s.rebalance(ctx)
	}
	if err == nil && s.cfg.Ordering == poller.OrderSource && s.cfg.Policy.Block {
		err = s.blockedByDead(ctx)
	}
	if err != nil {
		return faultOf(poller.LeaseAcquireFailed, "claiming the outbox", err)
	}
	return nil
}

// begin makes a holding the session's, one that goes on or a new one. What the session hands out ends with the session,
// even where the holding goes on.
func (s *session) begin() {
	var h *holding
	if s.only < 0 {
		h = s.shared.goOn()
	}
	if h == nil {
		h = newHolding(s.outbox.Claims, s.owner, s.cfg.ClaimTTL)
	}
	s.hold, s.owner = h, h.owner
	s.ctx, s.cancel = context.WithCancelCause(h.deadline.Context())
}

// check returns nil while the session may deliver.
func (s *session) check() error {
	if err := s.hold.deadline.Check(); err != nil {
		return err
	}
	return context.Cause(s.ctx)
}

// StrategyFor is the strategy for a table: that of the settings, or the one that suits the table. A mapped table, which
// has no buckets, is not opened with another one than leader.
func (c *Config) StrategyFor(own bool) claims.Strategy {
	switch {
	case c.Strategy != "":
		return c.Strategy
	case own && c.Ordering != poller.OrderSource:
		return claims.Partitioned
	}
	return claims.Leader
}

// takeFirst draws a token for the session, and takes what it cannot be without: all partitions (leader), or the one
// that it is for. One that goes on has its partitions, and sessions of the other strategies take some as they go.
func (s *session) takeFirst(ctx context.Context) error {
	var wanted []int
	var by []string // who else holds some of them
	held := s.hold.partitions()
	got, err := s.take(ctx, false, func(v *claims.Survey) []int {
		wanted, by = nil, nil
		switch {
		case len(held) > 0:
		case s.strategy == claims.Leader:
			wanted = claims.All(v.Partitions)
		case s.only >= 0 && s.only < v.Partitions:
			wanted = []int{s.only}
		}
		for _, i := range wanted {
			if holder := v.Held[i]; holder != "" && holder != s.owner && !slices.Contains(by, holder) {
				by = append(by, holder)
			}
		}
		if len(by) > 0 {
			return nil
		}
		return wanted
	})
	switch {
	case err != nil:
		return err
	case s.only >= got.Survey.Partitions:
		s.warn(fmt.Sprintf("partition %d was asked for, and there are %d: a message from before their number was changed",
			s.only, got.Survey.Partitions))
	case len(got.Partitions) < len(wanted):
		return skipped(by)
	}
	return nil
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
