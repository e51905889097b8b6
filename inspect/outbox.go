package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Ask asks an outbox how it stands. It is nil where the poller is none that can be asked.
func (p *Poller) Ask(ctx context.Context) (*Outbox, error) {
	about, err := p.wired.Outbox.About(ctx)
	if err != nil {
		return nil, err
	}
	return &Outbox{About: about, Unsuited: p.unsuited(&about), Next: []event.Entry{}}, nil
}

// Publishes reports whether the poller is an outbox that can be asked.
func (p *Poller) Publishes() bool { return p.wired.Outbox != nil }

// Entries are the first events in a state, without their payloads.
func (p *Poller) Entries(ctx context.Context, in event.State, most int) ([]event.Entry, error) {
	list := []event.Entry{}
	err := p.wired.Outbox.List(ctx, event.Filter{States: []event.State{in}, Limit: most}, func(e event.Entry) error {
		list = append(list, e)
		return nil
	})
	return list, err
}

func (p *Poller) checkOutbox(ctx context.Context, rows int) {
	p.checkFunctions()
	found, err := p.Ask(ctx)
	if err != nil {
		p.fault(err)
		p.Init = p.initCommand(ctx, err)
		return
	}
	p.Outbox = found
	p.fault(p.wired.Outbox.Writable(ctx))
	p.Warnings = append(append(p.Warnings, found.Warnings...), found.Unsuited...)
	if n := found.Figures.Dead; n > 0 {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("%d dead letter(s) hold their aggregates up: rowrelay outbox list %s --state dead", n, p.Config.Name))
	}
	if rows > 0 {
		found.Next, err = p.Entries(ctx, event.Pending, rows)
		p.fault(err)
	}
}

// foreignTimeout bounds the question whether a table of somebody else's is there.
const foreignTimeout = 3 * time.Second

// initCommand creates what is missing, where that is why an outbox could not be asked.
func (p *Poller) initCommand(ctx context.Context, err error) string {
	if !errors.Is(err, poller.ErrConfig) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, foreignTimeout)
	defer cancel()
	command := "rowrelay outbox init " + p.Config.Name
	if look, err := publisher.Find(ctx, p.wired.Connection, p.Config.Source.Table); err == nil && look.Exists &&
		!look.Own {
		command += " --beside"
	}
	return command
}

// unsuited is what does not suit the table, the engine or the host.
func (p *Poller) unsuited(about *publisher.About) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	s := &p.Config.Source
	switch {
	case about.Strategy == claims.Leader && s.FanoutQueue != "":
		add("source__fanout_queue has no effect: with the strategy leader one instance publishes everything; partitions need a bucket column (rowrelay outbox init)")
	case about.Strategy == claims.SkipLocked && p.Engine == "sqlite":
		add("skip_locked gains nothing on SQLite, which has one writer at a time: use leader")
	case s.Strategy == string(claims.Partitioned) && p.Engine == "sqlite": // chosen by somebody, not by default
		add("partitions gain little on SQLite, which has one writer at a time and lives on one machine: leader is enough")
	}
	if about.Partitions > 0 && about.Partitions != s.Partitions {
		add("%d partitions are in force, and source__partitions is %d: it takes effect when no instance holds a claim (rowrelay outbox pause %s, then resume)", about.Partitions, s.Partitions, p.Config.Name)
	}
	if n := len(about.Owners); about.Partitions > 0 && n > about.Partitions {
		add("%d instances share %d partitions: the others are idle; raise source__partitions", n, about.Partitions)
	}
	if p.Config.AfterDeadLetter == "release" {
		add("after_dead_letter=release publishes what comes after a dead letter of an aggregate: its order is broken when the dead letter is requeued")
	}
	return list
}

// checkFunctions says what the Functions host needs beside the poller's own function.
func (p *Poller) checkFunctions() {
	if !p.app.Hosted() {
		return
	}
	p.Warnings = append(p.Warnings, p.Leftovers...)
	p.checkCleanup()
	if !host.FansOut(p.Config) {
		return
	}
	p.FanoutPeriod = p.app.functions.TimerPeriod(p.Config.Name)
	faults, warnings := p.app.functions.FanoutLacks()
	p.Faults, p.Warnings = append(p.Faults, faults...), append(p.Warnings, warnings...)
	if name := p.Config.Name + mode.PartitionSuffix; !p.app.functions.HasFunction(name) {
		p.Faults = append(p.Faults, fmt.Sprintf("there is no %s/function.json, and the timer only hands partitions out (source__fanout_queue): nothing is published under the Functions host until `rowrelay functions` has written it", name))
	}
}

// checkCleanup says whether the clean-up of an outbox has its function.
func (p *Poller) checkCleanup() {
	name := p.Config.Name + mode.CleanupSuffix
	timer, err := p.app.functions.TimerText(name)
	switch {
	case !p.Can(mode.Marks), p.Config.Source.CleanupSchedule == "":
	case errors.Is(err, fs.ErrNotExist):
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("there is no %s/function.json: published events are never deleted under the Functions host until `rowrelay functions` has written it", name))
	case err != nil:
		p.Faults = append(p.Faults, err.Error())
	default:
		p.CleanupTimer = timer
	}
}
