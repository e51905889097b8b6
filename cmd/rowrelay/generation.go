package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/telemetry"
	"github.com/rowrelay/rowrelay/wiring"
)

// runOptions is how `rowrelay run` was called.
type runOptions struct {
	names       []string
	once, watch bool
}

// polling bounds a tick of `run` that goes on polling: the next begins at once, and what a tick has to tell (its line,
// its metrics, the Error line of a dead letter) is told when it ends.
const polling = 5 * time.Second

// errReloaded is why ticks end when settings were read anew.
var errReloaded = errors.New("the settings were reloaded")

// generation is what `rowrelay run` makes of settings that it has read: from the first tick to the last. A reload makes
// the next one.
type generation struct {
	console          // as the settings make it
	outer   *console // as the process has it
	how     *runOptions
	cfg     *config.App
	listen  string // status__listen, of which the listener makes an address in cfg
	app     *wiring.App
	chosen  []*wiring.Poller
	// ended are closed when nothing of a poller runs any more, by name; before is ended of the generation before, for the
	// pollers that are as they were.
	ended, before map[string]chan struct{}
	// said are warnings that these settings have had since they run; of watchTables.
	said config.Faults
	// left is closed when nothing runs any more of the pollers of earlier generations that are not as they were.
	left chan struct{}
}

// newGeneration reads the settings.
func newGeneration(c *console, how *runOptions) (*generation, error) {
	g := &generation{console: *c, outer: c, how: how}
	cfg, err := load(&g.console)
	if err != nil {
		return nil, err
	}
	g.take(cfg)
	return g, nil
}

// again is a generation of the same settings, for the tables that there are now; nil where these are those that are
// watched.
func (g *generation) again() *generation {
	next := &generation{console: g.console, outer: g.outer, how: g.how}
	next.take(next.expand(g.found))
	for _, w := range next.cfg.Warnings {
		if !slices.Contains(g.cfg.Warnings, w) && !slices.Contains(g.said, w) { // a table that is left out now
			g.said = append(g.said, w)
			g.log.Warn(w.Problem, "event", "warning", "setting", w.Setting, "next", w.Mend)
		}
	}
	if slices.Equal(next.environ, g.environ) ||
		slices.ContainsFunc(next.cfg.Pollers, func(p *config.Poller) bool { return p.Source.Tables != "" }) {
		return nil
	}
	return next
}

// take makes the settings those of `rowrelay run`.
func (g *generation) take(cfg *config.App) {
	g.cfg, g.listen = cfg, cfg.Status.Listen
	for _, p := range g.cfg.Pollers {
		p.SetLinger(0)
		switch {
		case g.how.once:
			p.PollInterval = 0 // one tick is what there is now: waiting for more is what `run` is for
		case p.PollInterval > 0:
			p.TickBudget = min(p.TickBudget, polling)
		}
	}
	g.log = newLogger(&g.console, g.cfg)
}

// wire makes the parts, which connect to nothing yet. Its error is why they cannot run.
func (g *generation) wire(exported *telemetry.Telemetry) error {
	g.telemetry = exported
	g.app = wiring.New(g.cfg, g.process())
	var err error
	if g.chosen, err = g.app.Choose(g.how.names); err == nil {
		err = wiring.Refuse(g.cfg, g.chosen)
	}
	if err != nil {
		g.close()
	}
	return err
}

// close is called when nothing is under way any more: nothing is lost with a connection.
func (g *generation) close() { _ = g.app.Close() }

// begin joins the parts that ticks need. Whoever calls it closes the side, and then the generation.
func (g *generation) begin(ctx, lifetime context.Context, page *switching) (*handler.Handler, *statusSide) {
	tell(ctx, g.log, g.app)
	ticking, registry := g.chosen, newRegistry()
	if g.how.once {
		ticking = nil
	}
	side := newStatusSide(&g.console, g.app, false, ticking, g.log)
	registry.MustRegister(side.tracking(), side.letters())
	h := handler.New(lifetime, handler.Config{Pollers: g.app.Handlers(nil), Log: g.log, Observe: side.observe,
		Registry: registry})
	page.to(registry, alonePage(g.cfg, side, h.MetricsHandler(), g.log))
	return h, side
}

// once runs what there is now.
func (g *generation) once(ctx context.Context, page *switching) error {
	defer g.close()
	lifetime, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(errStopped) })()
	h, side := g.begin(ctx, lifetime, page)
	defer side.close()
	if err := refuseMarks(ctx, g.chosen); err != nil {
		return err
	}
	return runOnce(ctx, h, g.chosen)
}

// relay runs the pollers until the process is told to stop, or a reload has made another generation, which it returns:
// then last ticks may still run, which ending waits for.
func (g *generation) relay(ctx context.Context, page *switching, asked <-chan string,
	ending *sync.WaitGroup) *generation {
	running, stop := context.WithCancel(ctx)
	g.stop = running.Done()
	lifetime, end := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(running, func() {
		if ctx.Err() == nil {
			end(errReloaded)
		}
		end(errStopped) // without effect where it is not the first
	})
	h, side := g.begin(ctx, lifetime, page)
	var wg sync.WaitGroup
	g.ended = map[string]chan struct{}{}
	for _, w := range g.chosen {
		ended := make(chan struct{})
		g.ended[w.Config.Name] = ended
		wg.Go(func() {
			defer close(ended)
			if before := g.before[w.Config.Name]; before != nil {
				<-before
			} else if g.left != nil {
				<-g.left
			}
			var of sync.WaitGroup
			of.Go(func() { keepTicking(running, h, w, g.log) })
			if w.Cleanup != nil {
				of.Go(func() { keepCleaning(running, h, w) })
			}
			of.Wait()
		})
	}
	others := make(chan *generation)
	if g.patterns {
		wg.Go(func() { g.watchTables(running, others) })
	}
	g.log.Info("running", "pollers", len(g.chosen), "status", "http://"+g.cfg.Status.Listen+"/status", "metrics",
		"http://"+g.cfg.Status.Listen+"/metrics")
	next := g.reload(ctx, asked, others)
	if next != nil {
		side.seen.Followed()
	}
	stop()
	ending.Go(func() {
		wg.Wait()
		side.close()
		g.close()
	})
	return next
}

// tablesEvery is how often databases are asked whether the tables of source__tables are still those.
const tablesEvery = 30 * time.Second

// watchTables hands over the next generation when source__tables of the settings that run means other tables than those
// that are watched. The file is not read: what was edited there waits until it is asked for. A database that does not
// answer is left to the ticks, which say so.
func (g *generation) watchTables(ctx context.Context, others chan<- *generation) {
	for clock.Sleep(ctx, tablesEvery) == nil {
		next := g.again()
		if next == nil {
			continue
		}
		select {
		case others <- next:
		case <-ctx.Done():
		}
	}
}

// reload waits until there are settings that run in the place of these, or others have come for the tables that there
// are; nil when ctx ends first.
func (g *generation) reload(ctx context.Context, asked <-chan string, others <-chan *generation) *generation {
	for {
		var next *generation
		var err error
		why := "other tables are there"
		select {
		case <-ctx.Done():
			return nil
		case why = <-asked:
			next, err = newGeneration(g.outer, g.how)
		case next = <-others:
		}
		if err == nil {
			err = g.succeeds(next)
		}
		if err == nil {
			added, changed, gone := g.differences(next)
			g.precede(next, changed, gone)
			g.log.Info("reloading", "event", "reload", "because", why, "added", added, "changed", changed, "gone", gone)
			return next
		}
		g.log.Error("the settings were not reloaded: those that run go on", "event", "reload_refused", "because", why,
			"error", err)
	}
}

// succeeds wires the next generation, or says why it cannot run in the place of this one.
func (g *generation) succeeds(next *generation) error {
	if g.cfg.State.Kind == "memory" {
		return errors.New("state__kind=memory: what it knows would be forgotten, and rows would be sent again. " +
			"Restart, or keep state in files")
	}
	if changed := g.changedFixed(next); len(changed) > 0 && len(next.cfg.Faults) == 0 { // else wire refuses it
		return errors.New("changed, and of the process: " + strings.Join(changed, ", ") +
			". Restart for them, or undo the change")
	}
	next.cfg.Status.Listen = g.cfg.Status.Listen // the address that it has become
	return next.wire(g.telemetry)
}

// precede says what each poller of the next generation waits for. One that is as it was waits for its own last tick,
// and not for others' slow requests. One that is not may do another one's work under a new name: it waits for all that
// changed or are gone, also by earlier reloads.
func (g *generation) precede(next *generation, changed, gone []string) {
	next.before, next.left = maps.Clone(g.ended), make(chan struct{})
	var leaving []chan struct{}
	for _, name := range slices.Concat(changed, gone) {
		if ended := next.before[name]; ended != nil {
			leaving = append(leaving, ended)
			delete(next.before, name)
		}
	}
	go func() {
		defer close(next.left)
		if g.left != nil {
			<-g.left
		}
		for _, ended := range leaving {
			<-ended
		}
	}()
}

// changedFixed names the settings that a reload cannot change, where they mean something else than before: which
// documents there are, who listens where, and what the exporters read of the process's environment.
func (g *generation) changedFixed(next *generation) []string {
	changed := g.cfg.State.Changed(&next.cfg.State)
	if g.listen != next.listen {
		changed = append(changed, "status__listen")
	}
	now, then := exporterSettings(g.environ), exporterSettings(next.environ)
	for name, value := range now {
		if other, there := then[name]; !there || other != value {
			changed = append(changed, name)
		}
	}
	for name := range then {
		if _, there := now[name]; !there {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

func exporterSettings(environ []string) map[string]string {
	found := map[string]string{}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "OTEL_") {
			found[name] = strings.TrimSpace(value)
		}
	}
	return found
}

// differences says what a reload changes, for the log.
func (g *generation) differences(next *generation) (added, changed, gone []string) {
	were := map[string]*config.Poller{}
	for _, p := range g.cfg.Pollers {
		were[p.Name] = p
	}
	for _, p := range next.cfg.Pollers {
		was := were[p.Name]
		delete(were, p.Name)
		switch {
		case was == nil:
			added = append(added, p.Name)
		case !reflect.DeepEqual(was, p):
			changed = append(changed, p.Name)
		}
	}
	for name := range were {
		gone = append(gone, name)
	}
	slices.Sort(gone)
	return added, changed, gone
}

// switching serves the page and the metrics of the generation that runs; whoever asks before the first one waits.
type switching struct {
	now   atomic.Pointer[served]
	first sync.Once
	ready chan struct{}
}

type served struct {
	metrics prometheus.Gatherer
	page    http.Handler
}

func (s *switching) to(metrics prometheus.Gatherer, page http.Handler) {
	s.now.Store(&served{metrics, page})
	s.first.Do(func() { close(s.ready) })
}

// ServeHTTP answers by the page.
func (s *switching) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.ready:
		s.now.Load().page.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

// Gather gathers what /metrics shows.
func (s *switching) Gather() ([]*dto.MetricFamily, error) {
	if now := s.now.Load(); now != nil {
		return now.metrics.Gather()
	}
	return nil, nil
}
