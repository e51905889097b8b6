package main

import (
	"log/slog"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// statusBound is how long a note of the status page is waited for.
const statusBound = 5 * time.Second

// statusSide is the side of a process that people look at: what its ticks have told, the report over all outputs, and what the
// page's buttons do.
type statusSide struct {
	// Reader gives the report; Operator carries out what the page asks for.
	Reader   status.Reader
	Operator status.Operator

	seen    *status.Recorder // nil in a command that does not tick
	actions *statusOperator
}

// newStatusSide makes it of a wired app. hosted says that functions start its ticks; else the pollers of ticking
// tick in this process by their schedules. Close it when no tick runs any more.
func newStatusSide(c *console, a *app, hosted bool, ticking []*wired, log *slog.Logger) *statusSide {
	seen := status.NewRecorder(status.RecorderConfig{App: a.cfg.State.AppName, Instance: instance(c), Store: a.store, Log: log})
	board := newStatusBoard(c, a, hosted, a.pollers, ticking, seen)
	actions := &statusOperator{console: c, app: a, board: board, log: log}
	return &statusSide{Reader: board, Operator: actions, seen: seen, actions: actions}
}

// observe is handler.Config's Observe.
func (s *statusSide) observe(r *poller.Report, next string) { s.seen.Observe(r, next) }

// close waits for actions under way, and writes what is left to note.
func (s *statusSide) close() {
	s.actions.end()
	s.seen.Close()
}

// newStatusBoard gives the report over chosen pollers. hosted says that functions start their ticks; seen is nil in a process that
// does not tick.
func newStatusBoard(c *console, a *app, hosted bool, chosen, ticking []*wired, seen *status.Recorder) *status.Board {
	cfg := status.BoardConfig{
		Version: version, Instance: instance(c), Store: a.store, Seen: seen,
		Backfill: func(b *state.Backfill) string { return admin.BackfillOf(b).String() },
	}
	return status.BoardOf(a.inspect(c, chosen, hosted), cfg, func(poller string) bool {
		return slices.ContainsFunc(ticking, func(w *wired) bool { return w.cfg.Name == poller })
	})
}
