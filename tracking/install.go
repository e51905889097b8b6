package tracking

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Work is what a command does to a database: statements, in order.
type Work struct {
	Changes    *engine.ChangeTable
	Statements []string
	// AtOnce says that they are one transaction.
	AtOnce bool
	// Done says that there is nothing to do.
	Done bool
	// Rights are what it takes. Unseen says which writes to the table no trigger sees. Both are for people.
	Rights string
	Unseen []string
}

// found is a table and what is there of its change table.
type found struct {
	table   engine.Table
	changes *engine.ChangeTable
	own     *engine.Table // nil where there is none
	faults  []string
}

var errNoTable = errors.New("could not find table")

// find reads the catalog.
func find(ctx context.Context, d engine.Dialect, conn *sql.Conn, table, name string) (f found, err error) {
	parts, err := engine.SplitName(table)
	if err != nil {
		return f, fmt.Errorf("%w: source__table %q: %w", poller.ErrConfig, table, err)
	}
	f.table, err = d.Table(ctx, conn, parts)
	if errors.Is(err, engine.ErrNoTable) {
		return f, fmt.Errorf("%w: %w: %s: correct source__table (schema.table), or grant SELECT on it",
			poller.ErrConfig, errNoTable, table)
	}
	if err != nil {
		return f, fmt.Errorf("read the catalog for %s: %w", table, err)
	}
	if f.changes, err = Of(d, &f.table, name); err != nil {
		return f, err
	}
	own, err := d.Table(ctx, conn, f.changes.Beside(f.changes.Name))
	switch {
	case errors.Is(err, engine.ErrNoTable):
		return f, nil
	case err != nil:
		return f, fmt.Errorf("read the catalog for %s: %w", f.changes.Name, err)
	}
	f.own = &own
	f.faults, err = d.Syntax().Tracking.Faults(ctx, conn, f.changes)
	return f, err
}

// Install says what it takes to have triggers keep a change table. A change table that does not fit its table any more
// is ErrConfig: it has to be uninstalled first.
func Install(ctx context.Context, d engine.Dialect, db *sql.DB, table, name string) (w Work, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return w, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	f, err := find(ctx, d, conn, table, name)
	if err != nil {
		return w, err
	}
	t := d.Syntax().Tracking
	w = Work{Changes: f.changes, AtOnce: t.AtOnce, Rights: t.Rights}
	if f.own != nil {
		if _, err := Join(d, &f.table, f.own, f.changes); err != nil {
			return w, err
		}
		w.Done = len(f.faults) == 0
	}
	declared, err := t.Declare(ctx, conn, f.changes)
	if err != nil {
		return w, fmt.Errorf("read the key's columns: %w", err)
	}
	if w.Unseen, err = t.Unseen(ctx, conn, f.changes); err != nil {
		return w, fmt.Errorf("read what the triggers do not see: %w", err)
	}
	w.Statements = t.Install(f.changes, declared)
	return w, nil
}

// Uninstall says what it takes to remove the triggers and the change table.
func Uninstall(ctx context.Context, d engine.Dialect, db *sql.DB, table, name string) (w Work, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return w, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing is under way
	f, err := find(ctx, d, conn, table, name)
	if errors.Is(err, errNoTable) {
		f.changes, err = leftBehind(ctx, d, conn, table, name, err)
	}
	if err != nil {
		return w, err
	}
	t := d.Syntax().Tracking
	return Work{Changes: f.changes, AtOnce: t.AtOnce, Statements: t.Uninstall(f.changes)}, nil
}

// leftBehind finds the change table of a table that was dropped, and with it the triggers.
func leftBehind(ctx context.Context, d engine.Dialect, conn *sql.Conn, table, name string,
	noTable error) (*engine.ChangeTable, error) {
	parts, err := engine.SplitName(table)
	if err != nil || d.Syntax().Tracking == nil {
		return nil, noTable
	}
	if name == "" {
		name = DefaultName(parts[len(parts)-1])
	}
	parts[len(parts)-1] = name
	own, err := d.Table(ctx, conn, parts)
	if err != nil {
		return nil, noTable
	}
	if parts, err = engine.SplitName(own.From); err != nil {
		return nil, noTable
	}
	return &engine.ChangeTable{OfParts: parts, Name: parts[len(parts)-1]}, nil
}

// Apply runs the statements. told is called before each; nil for nobody. Where they are no transaction, one that fails
// leaves those before it, and the same work can be done again.
func (w *Work) Apply(ctx context.Context, db *sql.DB, told func(n int, statement string)) error {
	type runner interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	run := func(on runner) error {
		for i, statement := range w.Statements {
			if told != nil {
				told(i+1, statement)
			}
			if _, err := on.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("statement %d of %d: %w", i+1, len(w.Statements), err)
			}
		}
		return nil
	}
	if !w.AtOnce {
		return run(db)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := run(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
