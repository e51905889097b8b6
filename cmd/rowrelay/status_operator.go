package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// statusOperator does what the status page's buttons ask for, by the functions behind the commands.
type statusOperator struct {
	console *console
	app     *app
	board   *status.Board
	log     *slog.Logger

	mu      sync.Mutex
	ended   bool           // no action begins any more
	running sync.WaitGroup // actions under way
}

var _ status.Operator = (*statusOperator)(nil)

// Pause stops a poller at its next batch: rowrelay state pause, or outbox pause.
func (o *statusOperator) Pause(ctx context.Context, name, output, by string) (string, error) {
	return o.act(name, output, by, "Paused "+name+"; what is under way is finished.", func(t *target) error { return t.pause(ctx, name) })
}

// Resume lets it go on: rowrelay state resume, or outbox resume.
func (o *statusOperator) Resume(ctx context.Context, name, output, by string) (string, error) {
	return o.act(name, output, by, "Resumed "+name+": it goes on with its next tick.", func(t *target) error { return t.resume(ctx, name) })
}

// Replay hands one dead letter back: rowrelay deadletter replay, or outbox requeue --id. A tick at work is paused for it.
func (o *statusOperator) Replay(ctx context.Context, name, output, letter, by string) (string, error) {
	done := "The row will be read again and delivered with the next tick."
	if w, err := o.app.poller(strings.ToLower(name)); err == nil && w.cfg.Source.Mode.Can(mode.Marks) {
		done = "The event is due now, and what waits behind it follows."
	}
	return o.act(name, output, by, done, func(t *target) error {
		if err := o.replay(ctx, t, name, letter); err != nil || t.remote.said.Done {
			return err
		}
		return &status.Refusal{Err: errors.New(t.remote.said.Result), Missing: true} // it found nothing to do
	})
}

// act does something for somebody, and says what was done in a sentence; of what was not, what the command says.
func (o *statusOperator) act(name, output, by, done string, do func(*target) error) (string, error) {
	if err := o.begin(); err != nil {
		return "", err
	}
	defer o.running.Done()
	if err := o.missing(name, output); err != nil {
		return "", err
	}
	t := o.target(output, by)
	err := do(t)
	o.board.Forget(name)
	switch {
	case err != nil:
		return "", refusal(flat(err))
	case t.remote.said.Done:
		return done, nil
	}
	return t.remote.said.Result, nil
}

// begin counts an action, for end to wait for.
func (o *statusOperator) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return errStopped
	}
	o.running.Add(1)
	return nil
}

// end lets no action begin any more, and waits a while for those under way: what they use is closed after it. A replay that waits for
// a lease ends by itself when the process is told to stop.
func (o *statusOperator) end() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		o.running.Wait()
		close(idle)
	}()
	bound := time.NewTimer(restoreBound)
	defer bound.Stop()
	select {
	case <-idle:
	case <-bound.C:
		o.log.Warn("an action of the status page has not ended in time, and the process ends without it", "waited", restoreBound.String(),
			"next", "look at what it was to change; a pause for a replay ends by itself within "+replayPause.String())
	}
}

// missing says that there is no such poller or output.
func (o *statusOperator) missing(name, output string) error {
	w, err := o.app.poller(strings.ToLower(name))
	if err != nil {
		return &status.Refusal{Err: err, Missing: true}
	}
	if !w.cfg.Source.Mode.Can(mode.Document) || slices.ContainsFunc(w.cfg.Outputs, func(c config.Output) bool { return c.Name == output }) {
		return nil
	}
	return &status.Refusal{Err: fmt.Errorf("poller %s has no output %q", w.cfg.Name, output), Missing: true}
}

// refusal tells what stands against an action from a store or a database that failed.
func refusal(err error) error {
	var known *status.Refusal
	var held *state.HeldError
	var document *state.DocumentError
	var faults config.Faults
	switch {
	case errors.As(err, &known):
		return &status.Refusal{Err: err, Missing: known.Missing}
	case errors.As(err, &held), errors.Is(err, state.ErrConflict), errors.As(err, &document), errors.As(err, &faults):
		return &status.Refusal{Err: err}
	}
	return err
}

// target is the console of somebody who is not there: nothing is asked, and nothing printed.
func (o *statusOperator) target(output, by string) *target {
	quiet := &console{environ: o.console.environ, out: io.Discard, err: io.Discard, settings: o.console.settings}
	return &target{console: quiet, output: output, yes: true, command: "rowrelay", remote: &remote{app: o.app, log: o.log, by: by}}
}
