package publisher

import (
	"cmp"
	"context"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

// About is what `rowrelay check` says of an outbox.
type About struct {
	poller.Origin
	Warnings []string
	// Layout is "own" (the columns of `rowrelay outbox init`) or "mapped"; Strategy what is in force.
	Layout     string
	Strategy   claims.Strategy
	Partitions int // in force; 0 where the strategy has none
	// Paused says who paused it, when and why; "" while it is not.
	Paused  string
	Owners  []claims.Owner
	Figures poller.OutboxFigures
}

// Writable tries what publishing writes, on no row.
func (p *Publisher) Writable(ctx context.Context) error {
	o, err := p.catalog.open(ctx)
	if err != nil {
		return err
	}
	return p.catalog.writable(ctx, o)
}

// About describes the outbox.
func (p *Publisher) About(ctx context.Context) (About, error) {
	o, err := p.catalog.open(ctx)
	if err != nil {
		return About{}, err
	}
	a := About{Origin: o.Origin, Warnings: o.Warnings, Layout: "own", Strategy: p.catalog.cfg.StrategyFor(o.Own)}
	if !o.Own {
		a.Layout = "mapped"
	}
	g, err := o.events.Look(ctx)
	if err != nil {
		return About{}, err
	}
	if g.Paused {
		a.Paused = cmp.Or(g.By, "somebody")
	}
	if a.Strategy != claims.Leader {
		a.Partitions = cmp.Or(g.Partitions, p.catalog.cfg.Partitions)
	}
	if a.Owners, err = o.events.Claims.Owners(ctx); err != nil {
		return About{}, err
	}
	a.Figures, err = o.events.Figures(ctx)
	return a, err
}
