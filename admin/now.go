package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

const (
	// leasePatience is how long a replay waits for the tick at work to give the lease back: its batch has to end. It is
	// less than the page gives an action, so that there is time left for the rest.
	leasePatience = 20 * time.Second
	// RestoreBound is how long it is tried to end the pause of a replay.
	RestoreBound = 8 * time.Second
	// ReplayPause is when the pause of a replay ends by itself: later than any replay, which the page's bound and
	// RestoreBound bound.
	ReplayPause = time.Minute
)

// Controls are what can be done at once, without a look at a plan. *Document and *Outbox have them.
type Controls interface {
	Pause(ctx context.Context) (*Plan, error)
	Resume(ctx context.Context) (*Plan, error)
	// ReplayNow delivers events again that were given up. An error of cause ends its wait for a tick at work.
	ReplayNow(ctx context.Context, ids []string, stop <-chan struct{}, cause error) (Result, error)
	// PurgeNow gives dead letters up for ever. It waits for nothing.
	PurgeNow(ctx context.Context, ids []string) (Result, error)
}

// ReplayNow hands dead letters back to the poller. A tick at work is paused for it.
func (d *Document) ReplayNow(
	ctx context.Context, ids []string, stop <-chan struct{}, cause error,
) (r Result, err error) {
	do := func(ctx context.Context) error { r, err = d.replayThese(ctx, ids); return err }
	if err := do(ctx); !isAtWork(err) {
		return r, err
	}
	err = d.whilePaused(ctx, stop, cause, do)
	return r, err
}

// PurgeNow deletes dead letters. Where events are parked, the lease has to be free.
func (d *Document) PurgeNow(ctx context.Context, ids []string) (Result, error) {
	chosen, err := d.Choose(ctx, &Choice{IDs: ids})
	if err != nil {
		return Result{}, err
	}
	plan, err := chosen.Purge()
	if err != nil {
		return Result{}, err
	}
	return plan.Apply(ctx)
}

func (d *Document) replayThese(ctx context.Context, ids []string) (Result, error) {
	chosen, err := d.Choose(ctx, &Choice{IDs: ids})
	if err != nil {
		return Result{}, err
	}
	plan, err := chosen.Replay(ctx)
	if err != nil {
		return Result{}, err
	}
	return plan.Apply(ctx)
}

// isAtWork reports whether something was refused because a tick holds the lease, or has just written the document.
func isAtWork(err error) bool {
	var held *state.HeldError
	return errors.As(err, &held) || errors.Is(err, state.ErrConflict)
}

// whilePaused does what needs the lease to be free: a tick with poll_interval, or with much to do, holds it nearly
// always. The poller is paused, unless it is, the tick at work is waited for, and then it goes on as before. If this
// process dies in between, the pause ends by itself.
func (d *Document) whilePaused(
	ctx context.Context, stop <-chan struct{}, cause error, do func(context.Context) error,
) (err error) {
	if err := d.load(ctx); err != nil {
		return err
	}
	snap := d.snap
	// At is what the document can hold, so that our pause is known again. Until is of the store's clock, which others
	// judge it by.
	ours := state.Paused{At: time.Now().UTC().Truncate(time.Millisecond), Until: snap.Now().Add(ReplayPause),
		By: d.By + forReplay}
	isOurs := func(p *state.Paused) bool { return p != nil && p.By == ours.By && p.At.Equal(ours.At) }
	defer func() { err = errors.Join(err, d.restore(ctx, isOurs)) }()
	after, err := d.Keeper.Amend(ctx, func(doc *state.Document) error {
		switch p := doc.Paused; {
		case p == nil, p.Over(snap.Now()):
			doc.Paused = &ours
		case !p.Until.IsZero() && !isOurs(p): // its end would let the poller go on under us
			return &Refusal{Err: fmt.Errorf("another replay of %s is under way, by %s", d.Poller,
				strings.TrimSuffix(p.By, forReplay)),
				Remedy: "try again when it has ended, in a minute at the latest"}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if isOurs(after.Doc.Paused) {
		d.audit("paused", "for", "a replay")
	}
	bounded, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		if err = finish(ctx, do); !isAtWork(err) {
			return err
		}
		select {
		case <-again.C:
			continue
		case <-stop:
			return fmt.Errorf("nothing was replayed: %w", cause)
		case <-bounded.Done():
		}
		if held := new(state.HeldError); errors.As(err, &held) {
			return fmt.Errorf("nothing was replayed: %w, and did not give it back within %s: pause %s, and replay when the "+
				"lease is free", held, leasePatience, d.Poller)
		}
		return err
	}
}

// finish makes an attempt, which ends also when nobody waits for it any more: so it is known what came of it.
func finish(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leasePatience)
	defer cancel()
	return attempt(ctx)
}

// restore ends our own pause, also when nobody waits for it any more; another's stays.
func (d *Document) restore(ctx context.Context, isOurs func(*state.Paused) bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RestoreBound)
	defer cancel()
	ended := false
	_, err := d.Keeper.Amend(ctx, func(doc *state.Document) error {
		if isOurs(doc.Paused) {
			doc.Paused, ended = nil, true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s may still be paused for the replay, which ends by itself within %s: %w", d.Poller, ReplayPause,
			err)
	}
	if ended {
		d.audit("resumed", "after", "a replay")
	}
	return nil
}
