package publisher

import (
	"cmp"
	"context"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
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

// Writable tries a statement that deletes nothing. Servers refuse it as they would any write; what else may be the
// matter, such as a lock, is no reason.
func (p *Publisher) Writable(ctx context.Context) error {
	c := p.catalog
	var refused error
	err := c.db.Once(ctx, "write", func(ctx context.Context, q statement.Querier) error {
		_, refused = q.ExecContext(ctx, "DELETE FROM "+c.claims.String()+" WHERE 1 = 0")
		return refused
	})
	if engine.Misconfigured(c.conn.Dialect, refused) ||
		engine.Classify(c.conn.Dialect, refused) == engine.FaultReadOnly {
		return err
	}
	return nil
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
	if a.Owners, err = o.claims.Owners(ctx); err != nil {
		return About{}, err
	}
	a.Figures, err = o.events.Figures(ctx)
	return a, err
}
