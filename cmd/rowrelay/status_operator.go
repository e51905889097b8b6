package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// statusOperator does what the status page's buttons ask for, by the functions behind the commands.
type statusOperator struct {
	console *console
	app     *app
	board   *status.Board
	log     *slog.Logger
}

var _ status.Operator = (*statusOperator)(nil)

// Pause stops a poller at its next batch: rowrelay state pause, or outbox pause.
func (o *statusOperator) Pause(ctx context.Context, name, output, by string) (string, error) {
	t := o.target(output, by)
	return o.told(t, name, "Paused "+name+"; what is under way is finished.", t.pause(ctx, name))
}

// Resume lets it go on: rowrelay state resume, or outbox resume.
func (o *statusOperator) Resume(ctx context.Context, name, output, by string) (string, error) {
	t := o.target(output, by)
	return o.told(t, name, "Resumed "+name+": it goes on with its next tick.", t.resume(ctx, name))
}

// Replay hands one dead letter back: rowrelay deadletter replay, or outbox requeue --id. A tick at work is paused for it.
func (o *statusOperator) Replay(ctx context.Context, name, output, letter, by string) (string, error) {
	t := o.target(output, by)
	if d := t.outboxDesk(name); d != nil {
		defer d.end()
		err := d.requeue(ctx, &choiceOfEvents{ids: []string{letter}})
		return o.told(t, name, "The event is due now, and what waits behind it follows.", err)
	}
	do := func(ctx context.Context) error { return (&letters{target: t}).replay(ctx, name, []string{letter}) }
	err := do(ctx)
	if isAtWork(err) {
		err = o.whilePaused(ctx, t, name, do)
	}
	return o.told(t, name, "The row will be read again and delivered with the next tick.", err)
}

// target is the console of somebody who is not there: nothing is asked, and nothing printed.
func (o *statusOperator) target(output, by string) *target {
	quiet := &console{environ: o.console.environ, out: io.Discard, err: io.Discard, settings: o.console.settings}
	return &target{console: quiet, output: output, yes: true, command: "rowrelay", remote: &remote{app: o.app, log: o.log, by: by}}
}

// told is the sentence for what was done; for what was not, what the command says.
func (o *statusOperator) told(t *target, name, done string, err error) (string, error) {
	o.board.Forget(name)
	switch {
	case err != nil:
		return "", flat(err)
	case t.remote.said.Done:
		return done, nil
	}
	return t.remote.said.Result, nil
}

const (
	// leasePatience is how long a replay waits for the tick at work to give the lease back: its batch has to end. It is less than
	// the page gives an action, so that there is time left for the rest.
	leasePatience = 20 * time.Second
	// restoreBound is how long it is tried to end the pause of a replay.
	restoreBound = 8 * time.Second
)

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
// poller stays paused, and the page says by whom and what for.
func (o *statusOperator) whilePaused(ctx context.Context, t *target, name string, do func(context.Context) error) (err error) {
	op, err := t.begin(ctx, name)
	if err != nil {
		return err
	}
	// At is what the document can hold, so that our pause is known again.
	ours := state.Paused{At: time.Now().UTC().Truncate(time.Millisecond), By: t.who() + forReplay}
	isOurs := func(p *state.Paused) bool { return p != nil && p.By == ours.By && p.At.Equal(ours.At) }
	defer func() { err = errors.Join(err, o.restore(ctx, op, isOurs)) }()
	after, err := op.out.keeper.Amend(ctx, func(doc *state.Document) error {
		if doc.Paused == nil {
			doc.Paused = &ours
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
	for {
		// Not bounded: what has begun is finished, within the bound of the action.
		if err = do(ctx); !isAtWork(err) {
			return err
		}
		if !sleepUntil(bounded, time.Now().Add(200*time.Millisecond)) {
			break
		}
	}
	if held := new(state.HeldError); errors.As(err, &held) {
		return fmt.Errorf("nothing was replayed: %w, and did not give it back within %s: pause %s, and replay when the lease is free", held, leasePatience, name)
	}
	return err
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
		return fmt.Errorf("%s may still be paused for the replay, resume it: %w", op.name(), err)
	}
	if ended {
		op.audit("resumed", "after", "a replay")
	}
	return nil
}
