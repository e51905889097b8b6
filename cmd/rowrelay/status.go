package main

import (
	"log/slog"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/status"
)

// statusBound is how long a report waits for the database or the state store of one output.
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

// newStatusSide makes it of a wired app. file is host.json under the Functions host; nil standalone, where the pollers of ticking
// tick in this process by their schedules. Close it when no tick runs any more.
func newStatusSide(c *console, a *app, file *host.File, ticking []*wired, log *slog.Logger) *statusSide {
	seen := status.NewRecorder(status.RecorderConfig{App: a.cfg.State.AppName, Instance: instance(c), Store: a.store, Log: log})
	board := newStatusBoard(c, a, file, a.pollers, ticking, seen)
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

// newStatusBoard gives the report over chosen pollers. seen is nil in a process that does not tick.
func newStatusBoard(c *console, a *app, file *host.File, chosen, ticking []*wired, seen *status.Recorder) *status.Board {
	cfg := status.BoardConfig{
		App: a.cfg.State.AppName, Version: version, Instance: instance(c), Faults: problemsOf(a.cfg.Faults), Store: a.store, Seen: seen, Bound: statusBound,
	}
	slots := make(chan struct{}, lettersOnce)
	for _, w := range chosen {
		cfg.Outputs = append(cfg.Outputs, statusSubjects(c, a, w, file, slices.Contains(ticking, w), slots)...)
	}
	return status.NewBoard(cfg)
}

// problemsOf are faults of settings, as a report shows them.
func problemsOf(faults config.Faults) []status.Problem {
	problems := []status.Problem{}
	for _, f := range faults {
		problems = append(problems, status.Problem{Event: string(poller.ConfigInvalid), Text: f.Setting + ": " + f.Problem, Mend: f.Mend})
	}
	return problems
}
