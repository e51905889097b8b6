package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// Operator does what the status page's buttons ask for, by the functions behind the commands.
type Operator struct {
	App   *App
	Board *status.Board   // it forgets what it knows of a poller that was changed
	Stop  <-chan struct{} // closed when the process was told to stop, nil never is: it ends a wait for a tick at work
	Ended error           // what is said of an action that a stop ended, or that comes after End
	Log   *slog.Logger

	mu      sync.Mutex
	ended   bool           // no action begins any more
	running sync.WaitGroup // actions under way
}

// Pause stops a poller at its next batch: rowrelay state pause, or outbox pause.
func (o *Operator) Pause(ctx context.Context, name, output, by string) (string, error) {
	return o.act(ctx, name, output, by, func(c admin.Controls) (string, error) {
		return applied(ctx, "Paused "+name+"; what is under way is finished.", c.Pause)
	})
}

// Resume lets it go on: rowrelay state resume, or outbox resume.
func (o *Operator) Resume(ctx context.Context, name, output, by string) (string, error) {
	return o.act(ctx, name, output, by, func(c admin.Controls) (string, error) {
		return applied(ctx, "Resumed "+name+": it goes on with its next tick.", c.Resume)
	})
}

// Replay hands dead letters back: rowrelay deadletter replay, or outbox requeue --id. A tick at work is paused for it.
func (o *Operator) Replay(ctx context.Context, name, output string, letters []string, by string) (string, error) {
	done := "The row will be read again and delivered with the next tick."
	switch n := len(letters); {
	case o.marks(name) && n == 1:
		done = "The event is due now, and what waits behind it follows."
	case o.marks(name):
		done = fmt.Sprintf("The %d events are due now, and what waits behind them follows.", n)
	case n > 1:
		done = fmt.Sprintf("The %d rows will be read again and delivered with the next tick.", n)
	}
	return o.act(ctx, name, output, by, func(c admin.Controls) (string, error) {
		r, err := c.ReplayNow(ctx, letters, o.Stop, o.Ended)
		switch {
		case err == nil:
			return done, nil
		case r.Count == 0:
			return "", err
		}
		return fmt.Sprintf("%d of the %d rows will be read again and delivered with the next tick.", r.Count,
			len(letters)), err
	})
}

// Purge gives dead letters up for ever: rowrelay deadletter purge, or outbox discard --id.
func (o *Operator) Purge(ctx context.Context, name, output string, letters []string, by string) (string, error) {
	done := "Deleted"
	if o.marks(name) {
		done = "Discarded"
	}
	return o.act(ctx, name, output, by, func(c admin.Controls) (string, error) {
		if _, err := c.PurgeNow(ctx, letters); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s for good: %d.", done, len(letters)), nil
	})
}

// Row reads the row of a dead letter: rowrelay deadletter show.
func (o *Operator) Row(ctx context.Context, name, output, letter, by string) ([]byte, error) {
	if err := o.begin(); err != nil {
		return nil, err
	}
	defer o.running.Done()
	if err := o.missing(name, output); err != nil {
		return nil, err
	}
	d, err := o.App.Managed(ctx, &Choice{Output: output, Command: "rowrelay"}, name, by, o.Log)
	if err != nil {
		return nil, refusal(plaintext.Error(err))
	}
	found, err := d.Find(ctx, &admin.Choice{IDs: []string{letter}})
	if err != nil {
		return nil, refusal(plaintext.Error(err))
	}
	o.Log.InfoContext(ctx, "the row of a dead letter was shown", "poller", name, "output", output, "event_id", letter,
		"by", by)
	return found.Entries[0].Record.Row, nil
}

// marks reports whether a poller's events have states of their own: an outbox.
func (o *Operator) marks(name string) bool {
	w, err := o.App.Poller(strings.ToLower(name))
	return err == nil && w.Config.Source.Mode.Can(mode.Marks)
}

// applied makes a planned change, and returns done; or why there was nothing to do.
func applied(ctx context.Context, done string, plan func(context.Context) (*admin.Plan, error)) (string, error) {
	p, err := plan(ctx)
	if nothing := new(admin.Nothing); errors.As(err, &nothing) {
		return nothing.Why, nil
	}
	if err == nil {
		_, err = p.Apply(ctx)
	}
	if err != nil {
		return "", err
	}
	return done, nil
}

// act does something with a poller's document or outbox for somebody, and returns what was done in a sentence, also
// beside an error: "" where nothing was.
func (o *Operator) act(ctx context.Context, name, output, by string,
	do func(admin.Controls) (string, error)) (string, error) {
	if err := o.begin(); err != nil {
		return "", err
	}
	defer o.running.Done()
	if err := o.missing(name, output); err != nil {
		return "", err
	}
	of := &Choice{Output: output, Command: "rowrelay"}
	controls, end, err := o.App.Controls(ctx, of, name, by, o.Log)
	said := ""
	if err == nil {
		said, err = do(controls)
		end()
	}
	o.Board.Forget(name)
	if err != nil {
		return said, refusal(plaintext.Error(err))
	}
	return said, nil
}

// begin counts an action, for End to wait for.
func (o *Operator) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return o.Ended
	}
	o.running.Add(1)
	return nil
}

// End lets no action begin any more, and waits a while for those under way: what they use is closed after it. A replay
// that waits for a lease ends by itself when the process is told to stop.
func (o *Operator) End() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		o.running.Wait()
		close(idle)
	}()
	bound := time.NewTimer(admin.RestoreBound)
	defer bound.Stop()
	select {
	case <-idle:
	case <-bound.C:
		o.Log.Warn("an action of the status page has not ended in time, and the process ends without it", "waited",
			admin.RestoreBound.String(),
			"next", "look at what it was to change; a pause for a replay ends by itself within "+admin.ReplayPause.String())
	}
}

// missing says that there is no such poller or output.
func (o *Operator) missing(name, output string) error {
	w, err := o.App.Poller(strings.ToLower(name))
	if err != nil {
		return &status.Refusal{Err: err, Missing: true}
	}
	if !w.Config.Source.Mode.Can(mode.Document) ||
		slices.ContainsFunc(w.Config.Outputs, func(c config.Output) bool { return c.Name == output }) {
		return nil
	}
	return &status.Refusal{Err: fmt.Errorf("poller %s has no output %q", w.Config.Name, output), Missing: true}
}

// refusal tells what stands against an action from a store or a database that failed.
func refusal(err error) error {
	var missing *status.Refusal
	var known *admin.Refusal
	var held *state.HeldError
	var document *state.DocumentError
	var faults config.Faults
	switch {
	case errors.As(err, &missing):
		return &status.Refusal{Err: err, Missing: missing.Missing}
	case errors.As(err, &known):
		return &status.Refusal{Err: err, Missing: known.Missing}
	case errors.As(err, &held), errors.Is(err, state.ErrConflict), errors.As(err, &document), errors.As(err, &faults):
		return &status.Refusal{Err: err}
	}
	return err
}
