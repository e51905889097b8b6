// Package tracked knows what a table whose changes are tracked tells beside its rows: a change table that triggers
// keep, or the engine's own tracking (SQL Server). It says within which versions a page of changes is read and where
// its events stand, which of them may not have been told yet, where changes are missing, and what readers have passed.
//
// It asks the database by the connection that it is given, once for each call that has one, and remembers nothing. The
// pages themselves are read by source. Errors wrap poller.ErrGap where changes are missing, poller.ErrConfig where the
// settings or a position are at fault, and engine.ErrSchemaChanged where the catalog has to be read again.
package tracked

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// Table is a tracked table as a plan reads it.
type Table struct {
	Plan *plan.Plan
	Cfg  *plan.Config
	// Source is the source for messages.
	Source string
}

// Catalog is the catalog of a table that is read through its change table. It proves that triggers keep that. server is
// what answers on the connection.
func Catalog(ctx context.Context, conn *sql.Conn, server *engine.Server, d engine.Dialect, cfg *plan.Config,
	t engine.Table) (engine.Table, error) {
	changes, err := tracking.Of(d, &t, cfg.TrackTable, cfg.Poller, tracking.Writes{Changed: cfg.Changed,
		Ignored: cfg.Ignored, Every: cfg.EveryChange, Before: cfg.BeforeImage, Columns: cfg.Columns, OrderKey: cfg.OrderKey,
		ReadCommitted: cfg.ReadCommitted})
	if err != nil {
		return t, err
	}
	if d.Syntax().Tracking.BuiltIn != nil {
		return builtIn(ctx, conn, server, d, &t, changes)
	}
	own, err := d.Table(ctx, conn, changes.Beside(changes.Name))
	if errors.Is(err, engine.ErrNoTable) {
		return t, tracking.Missing(changes)
	}
	if err != nil {
		return t, fmt.Errorf("read the catalog for %s: %w", changes.Name, err)
	}
	var joined engine.Table
	var notFirst string
	if changes.History != nil {
		if joined, err = tracking.Kept(&t, &own, changes); err == nil {
			notFirst, err = tracking.NotFirst(ctx, d, conn, changes)
		}
	} else {
		joined, err = tracking.Join(d, &t, &own, changes)
	}
	if err != nil {
		return t, err
	}
	syntax := d.Syntax()
	faults, err := syntax.Tracking.Faults(ctx, conn, changes)
	if err == nil && len(faults) > 0 {
		err = tracking.Broken(changes, faults)
	}
	if notFirst != "" {
		joined.Warnings = append(joined.Warnings, notFirst)
	}
	return joined, err
}

// builtIn is the catalog of a table whose changes the engine tracks. It proves that they can be read.
func builtIn(ctx context.Context, conn *sql.Conn, server *engine.Server, d engine.Dialect, t *engine.Table,
	changes *engine.ChangeTable) (engine.Table, error) {
	if server.ReadOnly {
		return *t, fmt.Errorf("%w: source__mode=changetracking: the server at hand is a readable secondary, or its database is "+
			"read-only, where no changes are tracked: connect to the primary (without ApplicationIntent=ReadOnly)",
			poller.ErrConfig)
	}
	own := d.Syntax().Tracking
	faults, err := own.Faults(ctx, conn, changes)
	switch {
	case err != nil:
		return *t, err
	case len(faults) > 0:
		return *t, tracking.Off(changes, faults)
	}
	joined, err := tracking.Join(d, t, tracking.BuiltIn(own.BuiltIn, t), changes)
	if err != nil {
		return *t, err
	}
	told, err := tell(ctx, conn, own.BuiltIn, changes)
	joined.Identity, joined.Identify = told.Table, nil // each page tells it
	return joined, err
}
