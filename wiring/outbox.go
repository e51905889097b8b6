package wiring

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/feed"
	"github.com/rowrelay/rowrelay/schedule"
)

// wireOutbox makes the publisher of a poller, and one relay over its feed.
func (a *App) wireOutbox(w *Poller) {
	cleanup, err := cleanupSchedule(w.Config.Source.CleanupSchedule)
	if err != nil {
		w.Faults.Add(w.Config.Setting("source__cleanup_schedule"), err.Error(),
			"Write an NCRONTAB expression such as 0 0 * * * *, or none")
		return
	}
	for _, suffix := range []string{mode.CleanupSuffix, mode.PartitionSuffix} {
		if a.Config.Poller(w.Config.Name+suffix) != nil {
			w.Faults.Add("pollers__"+w.Config.Name,
				fmt.Sprintf("there is a poller %s%s too, which is the name of a function of the outbox %[1]s", w.Config.Name,
					suffix),
				"Rename one of them")
			return
		}
	}
	letters, err := a.outboxDeadLetters(w)
	if w.failed(w.Config.Setting("dead_letter__connection"), err) {
		return
	}
	pub, err := publisher.Sharing(publisherConfig(a, w.Config, letters), w.Connection, a.database(w).writing)
	if w.failed("pollers__"+w.Config.Name+"__source", err) {
		return
	}
	a.closers = append(a.closers, pub.Close)
	out := &w.Config.Outputs[0]
	prefix := outputPrefix(w.Config.Name, out.Name)
	to, err := a.OpenOutput(w.Config, out)
	if w.failed(prefix, err) {
		return
	}
	relay, err := poller.NewRelay(relayConfig(a, w.Config, out, pub.Feed(), to))
	if w.failed(prefix, err) {
		return
	}
	w.Runner = poller.New(relay)
	w.Outbox, w.Cleanup, w.work = pub, cleanup, pub.Work
	w.partition = func(n int) (handler.Runner, error) {
		return a.partitionRunner(relayConfig(a, w.Config, out, pub.Partition(n), to))
	}
}

// partitionRunner runs the ticks of a partition. Its function ends when it is drained: one that went on polling would
// keep others from running on this instance, and the platform from seeing that there is nothing to do.
func (a *App) partitionRunner(c poller.Config) (handler.Runner, error) {
	c.PollInterval = 0
	relay, err := poller.NewRelay(c)
	if err != nil {
		return nil, err
	}
	return a.process.Telemetry.Runner(poller.New(relay)), nil
}

func cleanupSchedule(text string) (*schedule.Schedule, error) {
	if text == "" {
		return nil, nil
	}
	return parseSchedule(text)
}

// checkSharing refuses outboxes that publish from one table: whichever marks an event first keeps it from the other, so
// that the events would be divided between their destinations.
func (a *App) checkSharing() {
	for i, w := range a.Pollers {
		for _, other := range a.Pollers[:i] {
			if w.Config.Source.Mode.Can(mode.Marks) && other.Config.Source.Mode.Can(mode.Marks) && sameTable(w, other) {
				w.refuseSharing(other)
				other.refuseSharing(w)
			}
		}
	}
}

func (w *Poller) refuseSharing(other *Poller) {
	w.Faults.Add(w.Config.Setting("source__table"),
		fmt.Sprintf("%q is the outbox of the poller %s too (%s): an event is published once, so that each of the two "+
			"destinations would get a part of the events", w.Config.Source.Table, other.Config.Name,
			other.Config.Setting("source__table")),
		"Remove one of the two pollers, or give each a table of its own; to send events to several places, let the broker do it")
}

// sameTable reports whether two pollers read one table, as far as their settings show it. Two names of one server are
// not known for it.
func sameTable(v, w *Poller) bool {
	if v.Connection.Engine == "" || v.Connection.Engine != w.Connection.Engine ||
		v.Connection.Identity != w.Connection.Identity {
		return false
	}
	a, b := qualifiedName(v), qualifiedName(w)
	if a == nil || b == nil {
		return false
	}
	if v.Connection.Engine == "postgres" { // the only one that tells cases apart
		return slices.Equal(a, b)
	}
	return slices.EqualFunc(a, b, strings.EqualFold)
}

// qualifiedName is a table's schema and name: the schema that is meant where none is written. nil: it is no name.
func qualifiedName(w *Poller) []string {
	parts, err := engine.SplitName(w.Config.Source.Table)
	if err != nil || len(parts) == 0 {
		return nil
	}
	if len(parts) > 1 {
		return parts[len(parts)-2:]
	}
	schema := map[string]string{"postgres": "public", "sqlserver": "dbo", "sqlite": "main"}[w.Connection.Engine]
	if w.Connection.Engine == "mysql" {
		schema = w.Connection.Identity[strings.LastIndex(w.Connection.Identity, "/")+1:]
	}
	return []string{schema, parts[0]}
}

// publisherConfig is the settings as the publisher knows them.
func publisherConfig(a *App, p *config.Poller, letters poller.DeadLetters) publisher.Config {
	s := &p.Source
	return publisher.Config{
		Config: feed.Config{
			App: a.Config.State.AppName, Poller: p.Name, Instance: a.process.Instance(), Strategy: claims.Strategy(s.Strategy),
			Partitions: s.Partitions, ClaimTTL: s.ClaimTTL, Policy: policyOf(p), Ordering: poller.Ordering(p.Ordering),
			Alive: alive.Default(), DeadLetters: letters,
		},
		Table: s.Table, Map: s.Map, ClaimsTable: s.ClaimsTable, Timeout: s.Timeout, Connections: s.Connections,
		MaxRowBytes: p.MaxRowBytes, Retention: s.Retention, CleanupChunk: s.CleanupChunk,
	}
}

// outboxDeadLetters is what takes dead letters beside the rows; nil where the row, in its state DEAD LETTER, is all.
func (a *App) outboxDeadLetters(w *Poller) (poller.DeadLetters, error) {
	if w.Config.DeadLetter.Kind != "queue" {
		return nil, nil
	}
	if a.Store == nil {
		return nil, fmt.Errorf("a queue of dead letters needs a state store for those that are too large for it: set state__kind")
	}
	return a.openDeadLetters(w)
}

// Handlers makes the pollers answer: with their ticks, or with their faults. file is host.json under the
// Functions host, nil standalone.
func (a *App) Handlers(file *host.File) []handler.Poller {
	pollers := make([]handler.Poller, 0, len(a.Pollers))
	for _, w := range a.Pollers {
		p := handler.Poller{Name: w.Config.Name}
		for i := range w.Config.Outputs {
			p.Outputs = append(p.Outputs, w.Config.Outputs[i].Name)
		}
		if w.Config.Source.Mode == mode.Outbox {
			p.Outbox = &handler.Outbox{} // so that its functions are known, and answer with its faults
		}
		if w.Outbox != nil {
			p.Outbox = handlerOutbox(w, file)
		}
		if file != nil { // standalone every instance takes its share by itself
			fanout, err := a.handlerFanout(w)
			w.failed(w.Config.Setting("source__fanout_connection"), err)
			p.Fanout = fanout
		}
		p.Faults = w.Faults.Errors()
		if w.Runner != nil {
			p.Runner = a.process.Telemetry.Runner(w.Runner)
		}
		pollers = append(pollers, p)
	}
	return pollers
}

// handlerOutbox is the outbox as the handler knows it. file is host.json under the Functions host; nil standalone.
func handlerOutbox(w *Poller, file *host.File) *handler.Outbox {
	o := &handler.Outbox{Cleanup: func(ctx context.Context) (handler.Cleaned, error) {
		did, err := w.Outbox.Cleanup(ctx, func(int64) {})
		return handler.Cleaned{Rows: did.Rows, Chunks: did.Chunks, More: did.More}, err
	}}
	if file == nil {
		w.Outbox.Stay()
		return o
	}
	o.CleanupBudget = cleanupBudget(file.Timeout())
	return o
}

// handlerFanout is how the poller's work is handed out under the Functions host; nil where it is not.
func (a *App) handlerFanout(w *Poller) (*handler.Fanout, error) {
	if w.partition == nil || !host.FansOut(w.Config) {
		return nil, nil
	}
	send, err := a.openFanout(&w.Config.Source, a.process.host().TimerPeriod(w.Config.Name))
	if err != nil {
		return nil, err
	}
	f := &handler.Fanout{Work: w.work, Send: send, Partition: w.partition, Partitions: claims.Buckets,
		Timeout: w.Config.Source.Timeout + fanoutTimeout}
	if w.Outbox != nil {
		f.About = func(ctx context.Context) (poller.OutboxFigures, bool, error) {
			about, err := w.Outbox.About(ctx)
			return about.Figures, about.Paused != "", err
		}
	}
	return f, nil
}

// fanoutTimeout bounds the enqueueing of all partitions.
const fanoutTimeout = 30 * time.Second

// cleanupBudget leaves time to finish a chunk and to answer before the host's functionTimeout; 0 is unbounded.
func cleanupBudget(functionTimeout time.Duration) time.Duration {
	return max(functionTimeout/2, functionTimeout-30*time.Second)
}
