package status

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
)

// partBound is how long a report waits for the database or the state store of one output.
const partBound = 5 * time.Second

// BoardOf gives the report over the pollers of an app. ticks says which of them tick in this process by their
// schedules. cfg has what the description has not: who answers, the state store, and what was seen.
func BoardOf(app *inspect.App, cfg BoardConfig, ticks func(poller string) bool) *Board {
	cfg.App, cfg.Bound, cfg.PerWorker = app.Config.State.AppName, partBound, app.Config.MaxChangesPerWorker
	for _, f := range app.Config.Faults {
		cfg.Faults = append(cfg.Faults, settingProblem(f.Setting, f.Problem, f.Mend))
	}
	slots := make(chan struct{}, recordsOnce)
	for _, p := range app.Pollers {
		cfg.Outputs = append(cfg.Outputs, subjects(p, &cfg, ticks(p.Config.Name), slots)...)
	}
	return newBoard(cfg)
}

// settingProblem is a fault of settings, as a report shows it.
func settingProblem(setting, problem, mend string) Problem {
	return Problem{Event: string(poller.ConfigInvalid), Text: setting + ": " + problem, Mend: mend}
}

// subjects are the outputs of a poller. What has faults is there too, with as much as can be read. slots are for reads
// of dead letters, those of all pollers.
func subjects(p *inspect.Poller, cfg *BoardConfig, ticks bool, slots chan struct{}) (list []Subject) {
	base := Output{Poller: p.Config.Name, Mode: p.Config.Source.Mode, Source: p.Config.Source.Table}
	if p.Config.Source.Query != "" {
		base.Source = "query"
	}
	if p.Can(mode.Document) {
		base.MaxParked = int64(p.Config.MaxParked)
	}
	if p.Config.DeadLetter.Kind == "queue" {
		base.DeadLetterQueue = p.Config.DeadLetter.Queue
	}
	var faults []Problem
	for _, f := range p.SettingFaults() {
		faults = append(faults, settingProblem(f.Setting, f.Problem, f.Mend))
	}
	for _, out := range inspect.OutputsOf(p.Config) {
		s := Subject{Base: base, Faults: faults, Ticks: ticks, Parts: partsOf(p, out.Name, cfg, slots)}
		s.Base.Output, s.Base.Kind = out.Name, out.Kind
		s.Base.From, s.Base.To = p.Route(&out)
		if cfg.Store != nil && !p.Publishes() && !p.Shares() && base.DeadLetterQueue == "" {
			s.DeadLetters = newDeadLetterPart(cfg.Store, cfg.App, p.Config.Name, out.Name, slots).count
		}
		if p.Timer.Schedule != nil && !p.Timer.Assumed {
			s.Next, s.Limit = p.Timer.Schedule.Next, SilentAfter(p)
		}
		list = append(list, s)
	}
	return list
}

// SilentAfter is how long after a sign of life the next may take before that is a sign of something: one tick may be
// missed, the next takes its time, and it leaves no more than one note in lifeEvery. 0 where the schedule is not known.
func SilentAfter(p *inspect.Poller) time.Duration {
	if p.Timer.Assumed || !p.Timer.Fires {
		return 0
	}
	return lifeEvery + 2*p.Timer.Gap + p.Config.TickBudget + p.Config.Linger + p.LongestRequest()
}

// IdleAfter is SilentAfter while nobody holds the lease; 0 where a tick may take long without it: one that polls on, or
// waits for another output of its poller, and those of modes that hold something else.
func IdleAfter(p *inspect.Poller) time.Duration {
	if SilentAfter(p) == 0 || !p.Can(mode.Document) || p.Config.PollInterval > 0 || len(inspect.OutputsOf(p.Config)) > 1 {
		return 0
	}
	return lifeEvery + 2*p.Timer.Gap + idleBound
}

// partsOf are what is read of an output: its state document and the dead letters beside it, its outbox, or the tables
// by which instances share its changes.
func partsOf(p *inspect.Poller, output string, cfg *BoardConfig, slots chan struct{}) []Part {
	if p.Publishes() {
		return []Part{{
			What: "the outbox", Main: true, Every: outboxEvery, Read: (&outboxPart{p}).read,
		}}
	}
	if p.Shares() {
		return []Part{
			{What: "the tables of shared leases", Main: true, Every: sharedEvery, Read: (&sharedPart{p}).read},
			newScalePart(cfg.PerWorker, p.SharedUnprocessed), retentionPart(p),
		}
	}
	for _, o := range p.Outputs {
		if o.Config.Name != output {
			continue
		}
		d, l := &documentPart{out: o, backfill: cfg.Backfill},
			newDeadLetterPart(cfg.Store, cfg.App, p.Config.Name, output, slots)
		list := []Part{
			{What: "the state document", Main: true, Stored: true, Measured: p.Can(mode.Triggers),
				Every: documentEvery, Read: d.read},
			{What: "the dead letters", Stored: true, Every: recordsEvery, Read: l.read},
		}
		if p.Can(mode.Triggers) && p.Runs() {
			list = append(list, newScalePart(cfg.PerWorker, func(ctx context.Context, most int) (int64, error) {
				return p.Unprocessed(ctx, o, most)
			}), retentionPart(p))
		}
		return list
	}
	return nil
}
