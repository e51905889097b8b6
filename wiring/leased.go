package wiring

import (
	"context"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/leased"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
)

// wireLeased makes the relay of a poller whose changes instances share by leases.
func (a *App) wireLeased(w *Poller) {
	src, err := source.Sharing(a.database(w).reading, sourceConfig(w.Config))
	if w.failed("pollers__"+w.Config.Name+"__source", err) {
		return
	}
	letters, err := a.outboxDeadLetters(w)
	if w.failed(w.Config.Setting("dead_letter__connection"), err) {
		return
	}
	s := &w.Config.Source
	leases := src.Leases(source.LeasesConfig{
		Function: leased.FunctionID(s.SiteName, s.FunctionName), Table: s.LeasesTable, Legacy: s.LegacyID,
		TableLock:   s.LeasesLock == "table",
		LockTimeout: a.Config.AppLockTimeout,
		Binding:     s.Compat == "binding",
	})
	feed, err := leased.New(leased.Config{
		App: a.Config.State.AppName, Poller: w.Config.Name, Policy: policyOf(w.Config), TTL: w.Config.LeaseTTL,
		DeadLetters: letters, Changes: leases, Binding: s.Compat == "binding",
	})
	if w.failed("pollers__"+w.Config.Name, err) {
		return
	}
	out := &w.Config.Outputs[0]
	prefix := outputPrefix(w.Config.Name, out.Name)
	to, err := a.OpenOutput(w.Config, out)
	if w.failed(prefix, err) {
		return
	}
	relayed := func() poller.Config {
		cfg := relayConfig(a, w.Config, out, feed, to)
		if s.Compat == "binding" {
			cfg.Whole, cfg.Retries = true, 1
			if cfg.RequestEvents > 1 { // else the output takes one event in a request
				cfg.RequestEvents = cfg.Fetch.Rows
			}
		}
		return cfg
	}
	cfg := relayed()
	if s.FanoutQueue != "" {
		cfg.PollInterval = 0 // a tick that went on polling would keep the timer from handing out what has come meanwhile
	}
	relay, err := poller.NewRelay(cfg)
	if w.failed(prefix, err) {
		return
	}
	w.Source, w.Leases, w.Runner = src, leases, poller.New(relay)
	w.work = func(ctx context.Context) ([]int, int, error) { return feed.Workers(ctx, a.Config.MaxChangesPerWorker) }
	w.partition = func(int) (handler.Runner, error) {
		return a.partitionRunner(relayed())
	}
}
