package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
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

// Replay hands one dead letter back: rowrelay deadletter replay, or outbox requeue --id.
func (o *statusOperator) Replay(ctx context.Context, name, output, letter, by string) (string, error) {
	t := o.target(output, by)
	if d := t.outboxDesk(name); d != nil {
		defer d.end()
		err := d.requeue(ctx, &choiceOfEvents{ids: []string{letter}})
		return o.told(t, name, "The event is due now, and what waits behind it follows.", err)
	}
	err := o.patiently(ctx, func() error {
		return (&letters{target: t}).replay(ctx, name, []string{letter})
	})
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

// leasePatience is how long a replay waits for a moment in which nobody holds the lease: ticks come and go.
const leasePatience = 10 * time.Second

// patiently repeats what was refused because a tick was at work, for a short time.
func (o *statusOperator) patiently(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, leasePatience)
	defer cancel()
	for {
		err := do()
		var held *state.HeldError
		if !errors.As(err, &held) && !errors.Is(err, state.ErrConflict) || !sleepUntil(ctx, time.Now().Add(200*time.Millisecond)) {
			return err
		}
	}
}
