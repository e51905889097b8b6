package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
	"github.com/rowrelay/rowrelay/statuspage"
	"github.com/rowrelay/rowrelay/wiring"
)

// statusSide is the side of a process that people look at: what its ticks have told, the report over all outputs, and
// what the page's buttons do.
type statusSide struct {
	// Reader gives the report; Operator carries out what the page asks for.
	Reader   status.Reader
	Operator status.Operator

	seen    *status.Recorder // nil in a command that does not tick
	actions *statusOperator
}

// newStatusSide makes it of a wired app. hosted says that functions start its ticks; else the pollers of ticking
// tick in this process by their schedules (none of them for run --once). Close it when no tick runs any more.
func newStatusSide(c *console, a *wiring.App, hosted bool, ticking []*wiring.Poller, log *slog.Logger) *statusSide {
	silent := map[string]time.Duration{}
	for _, p := range a.Inspect(a.Pollers, hosted).Pollers {
		if hosted || ticks(ticking, p.Config.Name) {
			silent[p.Config.Name] = status.SilentAfter(p)
		}
	}
	seen := status.NewRecorder(status.RecorderConfig{App: a.Config.State.AppName,
		Instance: c.process().Instance(), Store: a.Store,
		SilentAfter: func(poller string) time.Duration { return silent[poller] }, Log: log})
	board := newStatusBoard(c, a, hosted, a.Pollers, ticking, seen)
	actions := &statusOperator{console: c, app: a, board: board, log: log}
	return &statusSide{Reader: board, Operator: actions, seen: seen, actions: actions}
}

// tracking are the metrics that are read off the same board.
func (s *statusSide) tracking() prometheus.Collector {
	return handler.NewTrackingMetrics(func(ctx context.Context) (list []handler.Tracked) {
		for _, o := range s.actions.board.Measured(ctx) {
			t := handler.Tracked{Poller: o.Poller, Output: o.Output}
			if s := o.Scale; s != nil {
				t.Counted, t.Unprocessed, t.Workers = true, s.Unprocessed, s.TargetWorkers
			}
			if p := o.Progress; p != nil && p.Whole {
				t.Snapshot, t.Read, t.Estimated = true, p.Read, p.Estimated
			}
			list = append(list, t)
		}
		return list
	})
}

// letters are the dead letters, counted off the same board.
func (s *statusSide) letters() prometheus.Collector {
	return handler.NewLetterMetrics(func(ctx context.Context) (list []handler.DeadLetters) {
		for _, c := range s.actions.board.DeadLetters(ctx) {
			list = append(list, handler.DeadLetters{Poller: c.Poller, Output: c.Output, N: c.DeadLetters})
		}
		return list
	})
}

// observe is handler.Config's Observe.
func (s *statusSide) observe(r *poller.Report, next string) { s.seen.Observe(r, next) }

// close waits for actions under way, and writes what is left to note.
func (s *statusSide) close() {
	s.actions.end()
	s.seen.Close()
}

// newStatusBoard gives the report over chosen pollers. hosted says that functions start their ticks; seen is nil in a
// process that does not tick.
func newStatusBoard(c *console, a *wiring.App, hosted bool, chosen, ticking []*wiring.Poller,
	seen *status.Recorder) *status.Board {
	cfg := status.BoardConfig{
		Version: version, Instance: c.process().Instance(), Store: a.Store, Seen: seen,
		Backfill: func(b *state.Backfill) string { return admin.BackfillOf(b).String() },
	}
	return status.BoardOf(a.Inspect(chosen, hosted), cfg, func(poller string) bool { return ticks(ticking, poller) })
}

// ticks reports whether a poller is one of those that tick in this process by their schedules.
func ticks(ticking []*wiring.Poller, poller string) bool {
	return slices.ContainsFunc(ticking, func(w *wiring.Poller) bool { return w.Config.Name == poller })
}

// hostedPage are the HTTP functions of the status page. The host asks for a function key before the one, and for the
// admin key before the other.
func hostedPage(c *console, side *statusSide, log *slog.Logger) map[string]http.Handler {
	cfg := statuspage.Config{Reader: side.Reader, Operator: side.Operator, Keyless: c.functionApp().Keyless(), Log: log}
	return map[string]http.Handler{
		host.StatusFunction: statuspage.View(cfg),
		host.ActionsFunction: statuspage.Secured(handler.RequireAdmin(statuspage.Actions(cfg,
			statuspage.EasyAuth(c.env(host.EasyAuthSetting))))),
	}
}

// alonePage serves the page, /metrics and /healthz of `rowrelay run`. config has seen to it that a listener beyond
// loopback has a token.
func alonePage(cfg *config.App, side *statusSide, metrics http.Handler, log *slog.Logger) http.Handler {
	token := cfg.Status.Token.Reveal()
	guard := statuspage.NewGuard(token, log)
	mux := http.NewServeMux()
	// Whether the process serves, for probes: it asks no database, whose outage is no reason to restart, and needs no
	// token.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.Handle("GET /metrics", guard.Bearer(metrics))
	mux.Handle("/", statuspage.Standalone(statuspage.Config{Reader: side.Reader, Operator: side.Operator, Token: token,
		Log: log}, guard))
	return mux
}

// statusOperator does what the status page's buttons ask for, by the functions behind the commands.
type statusOperator struct {
	console *console
	app     *wiring.App
	board   *status.Board
	log     *slog.Logger

	mu      sync.Mutex
	ended   bool           // no action begins any more
	running sync.WaitGroup // actions under way
}

var _ status.Operator = (*statusOperator)(nil)

// Pause stops a poller at its next batch: rowrelay state pause, or outbox pause.
func (o *statusOperator) Pause(ctx context.Context, name, output, by string) (string, error) {
	return o.act(ctx, name, output, by, func(c admin.Controls) (string, error) {
		return applied(ctx, "Paused "+name+"; what is under way is finished.", c.Pause)
	})
}

// Resume lets it go on: rowrelay state resume, or outbox resume.
func (o *statusOperator) Resume(ctx context.Context, name, output, by string) (string, error) {
	return o.act(ctx, name, output, by, func(c admin.Controls) (string, error) {
		return applied(ctx, "Resumed "+name+": it goes on with its next tick.", c.Resume)
	})
}

// Replay hands dead letters back: rowrelay deadletter replay, or outbox requeue --id. A tick at work is paused for it.
func (o *statusOperator) Replay(ctx context.Context, name, output string, letters []string, by string) (string, error) {
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
		_, err := c.ReplayNow(ctx, letters, o.console.stop, errStopped)
		return done, err
	})
}

// Purge gives dead letters up for ever: rowrelay deadletter purge, or outbox discard --id.
func (o *statusOperator) Purge(ctx context.Context, name, output string, letters []string, by string) (string, error) {
	done := "Deleted"
	if o.marks(name) {
		done = "Discarded"
	}
	return o.act(ctx, name, output, by, func(c admin.Controls) (string, error) {
		_, err := c.PurgeNow(ctx, letters)
		return fmt.Sprintf("%s for good: %d.", done, len(letters)), err
	})
}

// marks reports whether a poller's events have states of their own: an outbox.
func (o *statusOperator) marks(name string) bool {
	w, err := o.app.Poller(strings.ToLower(name))
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
	return done, err
}

// act does something with a poller's document or outbox for somebody, and returns what was done in a sentence.
func (o *statusOperator) act(ctx context.Context, name, output, by string,
	do func(admin.Controls) (string, error)) (string, error) {
	if err := o.begin(); err != nil {
		return "", err
	}
	defer o.running.Done()
	if err := o.missing(name, output); err != nil {
		return "", err
	}
	of := &wiring.Choice{Output: output, Command: "rowrelay"}
	controls, end, err := o.app.Controls(ctx, of, name, by, o.log)
	said := ""
	if err == nil {
		said, err = do(controls)
		end()
	}
	o.board.Forget(name)
	if err != nil {
		return "", refusal(flat(err))
	}
	return said, nil
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

// end lets no action begin any more, and waits a while for those under way: what they use is closed after it. A replay
// that waits for a lease ends by itself when the process is told to stop.
func (o *statusOperator) end() {
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
		o.log.Warn("an action of the status page has not ended in time, and the process ends without it", "waited",
			admin.RestoreBound.String(),
			"next", "look at what it was to change; a pause for a replay ends by itself within "+admin.ReplayPause.String())
	}
}

// missing says that there is no such poller or output.
func (o *statusOperator) missing(name, output string) error {
	w, err := o.app.Poller(strings.ToLower(name))
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
