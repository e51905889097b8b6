package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

const (
	// leasePatience is how long a replay waits for the tick at work to give the lease back: its batch has to end. It is less than
	// the page gives an action, so that there is time left for the rest.
	leasePatience = 20 * time.Second
	// restoreBound is how long it is tried to end the pause of a replay.
	restoreBound = 8 * time.Second
	// replayPause is when the pause of a replay ends by itself: later than any replay, which the page's and restoreBound bound.
	replayPause = time.Minute
)

// replay does what the button for a dead letter asks.
func (o *statusOperator) replay(ctx context.Context, t *target, name, letter string) error {
	if d := t.outboxDesk(name); d != nil {
		defer d.end()
		return d.requeue(ctx, &choiceOfEvents{ids: []string{letter}})
	}
	do := func(ctx context.Context) error { return (&letters{target: t}).replay(ctx, name, []string{letter}) }
	err := do(ctx)
	if isAtWork(err) {
		err = o.whilePaused(ctx, t, name, do)
	}
	return err
}

// isAtWork reports whether something was refused because a tick holds the lease, or has just written the document.
func isAtWork(err error) bool {
	var held *state.HeldError
	return errors.As(err, &held) || errors.Is(err, state.ErrConflict)
}

// forReplay ends the name in a pause that lasts only as long as a replay.
const forReplay = ", for a replay"

// isForReplay reports whether a pause is a replay's. An operator's takes its place, and outlasts it.
func isForReplay(p *state.Paused) bool { return strings.HasSuffix(p.By, forReplay) }

// whilePaused does what needs the lease to be free: a tick with poll_interval, or with much to do, holds it nearly always. The poller
// is paused, unless it is, the tick at work is waited for, and then it goes on as before. If this process dies in between, the
// pause ends by itself.
func (o *statusOperator) whilePaused(ctx context.Context, t *target, name string, do func(context.Context) error) (err error) {
	op, err := t.begin(ctx, name)
	if err != nil {
		return err
	}
	// At is what the document can hold, so that our pause is known again. Until is of the store's clock, which others judge it by.
	ours := state.Paused{At: time.Now().UTC().Truncate(time.Millisecond), Until: op.snap.Now().Add(replayPause), By: t.who() + forReplay}
	isOurs := func(p *state.Paused) bool { return p != nil && p.By == ours.By && p.At.Equal(ours.At) }
	defer func() { err = errors.Join(err, o.restore(ctx, op, isOurs)) }()
	after, err := op.out.keeper.Amend(ctx, func(doc *state.Document) error {
		switch p := doc.Paused; {
		case p == nil, p.Over(op.snap.Now()):
			doc.Paused = &ours
		case !p.Until.IsZero() && !isOurs(p): // its end would let the poller go on under us
			return &status.Refusal{Err: fmt.Errorf("another replay of %s is under way, by %s: try again when it has ended, in a minute at the latest",
				op.name(), strings.TrimSuffix(p.By, forReplay))}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if isOurs(after.Doc.Paused) {
		op.audit("paused", "for", "a replay")
	}
	bounded, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		// Not bounded: what has begun is finished, within the bound of the action.
		if err = do(ctx); !isAtWork(err) {
			return err
		}
		select {
		case <-again.C:
			continue
		case <-o.console.stop:
			return fmt.Errorf("nothing was replayed: %w", errStopped)
		case <-bounded.Done():
		}
		if held := new(state.HeldError); errors.As(err, &held) {
			return fmt.Errorf("nothing was replayed: %w, and did not give it back within %s: pause %s, and replay when the lease is free", held, leasePatience, name)
		}
		return err
	}
}

// restore ends our own pause, also when nobody waits for it any more; another's stays.
func (o *statusOperator) restore(ctx context.Context, op *operation, isOurs func(*state.Paused) bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreBound)
	defer cancel()
	ended := false
	_, err := op.out.keeper.Amend(ctx, func(doc *state.Document) error {
		if isOurs(doc.Paused) {
			doc.Paused, ended = nil, true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s may still be paused for the replay, which ends by itself within %s: %w", op.name(), replayPause, err)
	}
	if ended {
		op.audit("resumed", "after", "a replay")
	}
	return nil
}
