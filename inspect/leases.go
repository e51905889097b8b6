package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/state"
)

// Shared is how changes stand that instances share by leases.
type Shared struct {
	engine.LeaseTold
	Dead []source.DeadRow // at most 100
}

// Shares reports whether instances share the poller's changes by leases, and can be asked.
func (p *Poller) Shares() bool { return p.wired.Leases != nil }

// AskLeases asks how the shared changes stand. state.ErrNotFound says that no tick has made the function's state yet.
func (p *Poller) AskLeases(ctx context.Context) (s Shared, err error) {
	s.LeaseTold, err = p.wired.Leases.Show(ctx)
	switch {
	case p.wired.Leases.IsMissing(err), err == nil && !s.Known:
		return s, state.ErrNotFound
	case err != nil:
		return s, err
	}
	s.Dead, err = p.wired.Leases.Dead(ctx)
	return s, err
}

// checkLeases asks for the tables through which instances share changes. It makes none of them.
func (p *Poller) checkLeases(ctx context.Context) {
	p.checkFunctions()
	l := p.wired.Leases
	t, origin, warnings, err := l.Tables(ctx)
	if err != nil {
		p.fault(err)
		return
	}
	p.Warnings = append(p.Warnings, "source__leases=azfunc is experimental: no release has run it on a real SQL Server "+
		"(docs/azure-sql-trigger.md)", "SQL trigger Leases table: [az_func].["+t.Leases+"]")
	p.Warnings = append(p.Warnings, warnings...)
	p.Table.Description = checkpointed.Description{Fingerprint: origin.Fingerprint, Engine: origin.Engine,
		Table: origin.Table}
	faults, err := l.Faults(ctx)
	if len(faults) > 0 {
		err = fmt.Errorf("source__leases=azfunc: %s", strings.Join(faults, "; "))
	}
	p.fault(err)
	if err != nil {
		return
	}
	told, err := l.Show(ctx)
	switch {
	case l.IsMissing(err):
		p.Warnings = append(p.Warnings, "the tables of the function "+t.Function+" are missing, and the first tick makes "+
			"them: it begins as source__start says. To take over a function of the Azure SQL trigger, source__site_name and "+
			"source__function_name must be its own")
	case err != nil:
		p.fault(err)
	case !told.Known:
		p.Warnings = append(p.Warnings, "[az_func].[GlobalState] has no row for the function "+t.Function+": the first "+
			"tick begins as source__start says")
	case told.Foreign > 0:
		p.fault(fmt.Errorf("somebody else holds %d leases in [az_func].[%s], until %s by the server's clock: the Azure SQL trigger binding "+
			"runs with the same function id: stop that function", told.Foreign, t.Leases, told.Until))
	}
}
