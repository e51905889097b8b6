package main

import (
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/status"
)

// statusSubjects are the outputs of a poller as a report knows them. What has faults is there too, with as much as can be read. slots
// are for reads of dead letters, those of all pollers.
func statusSubjects(c *console, a *app, w *wired, host *hostFile, ticks bool, slots chan struct{}) []status.Subject {
	base := status.Output{Poller: w.cfg.Name, Mode: w.cfg.Source.Mode, Source: w.cfg.Source.Table}
	if w.cfg.Source.Query != "" {
		base.Source = "query"
	}
	if w.cfg.Source.Mode.Can(mode.Document) {
		base.MaxParked = int64(w.cfg.MaxParked)
	}
	if w.cfg.DeadLetter.Kind == "queue" {
		base.DeadLetterQueue = w.cfg.DeadLetter.Queue
	}
	timer := timerOf(c, w, host)
	outputs := w.cfg.Outputs
	if len(outputs) == 0 { // a fault
		outputs = []config.Output{{}}
	}
	var subjects []status.Subject
	for i := range outputs {
		s := status.Subject{Base: base, Faults: problemsOf(w.faults), Ticks: ticks, Parts: a.statusParts(c, w, &outputs[i], slots)}
		s.Base.Output, s.Base.Kind = outputs[i].Name, outputs[i].Kind
		if timer != nil {
			s.Next, s.Limit = timer.Next, silentFor(w.cfg, timer)
		}
		subjects = append(subjects, s)
	}
	return subjects
}

// timerOf is what starts a poller's ticks: the setting schedule standalone, the schedule of its function.json under the Functions
// host. It is nil where that cannot be told.
func timerOf(c *console, w *wired, host *hostFile) *schedule.Schedule {
	if host == nil {
		return w.schedule
	}
	timer, err := readFunction(appRoot(c), w.cfg.Name)
	if err != nil {
		return nil
	}
	s, _, _ := timerSchedule(c, timer.Schedule, w.cfg.Name)
	return s
}

// silentFor is how long no tick may end well before that is a sign of something: three times as long as the schedule and a tick
// take, and two minutes at least.
func silentFor(p *config.Poller, timer *schedule.Schedule) time.Duration {
	gap, ok := timer.LongestGap()
	if !ok {
		return 0
	}
	longest := time.Duration(0)
	for i := range p.Outputs {
		longest = max(longest, p.Outputs[i].Timeout)
	}
	return max(2*time.Minute, 3*(gap+p.TickBudget+longest))
}

// statusParts are what is read of an output: from its state document, and from the dead letters beside it, or from its outbox.
func (a *app) statusParts(c *console, w *wired, out *config.Output, slots chan struct{}) []status.Part {
	if !w.cfg.Source.Mode.Can(mode.Document) {
		if w.outbox == nil {
			return nil
		}
		return outboxParts(w.outbox)
	}
	if a.store == nil {
		return nil
	}
	at := slices.IndexFunc(w.outputs, func(o *wiredOutput) bool { return o.cfg.Name == out.Name })
	var found *wiredOutput
	if at >= 0 {
		found = w.outputs[at]
	} else { // it has faults, or its poller has
		var err error
		if found, err = a.document(c, w.cfg, out); err != nil {
			return nil // a fault, which is told
		}
	}
	return documentParts(a, w, found, slots)
}
