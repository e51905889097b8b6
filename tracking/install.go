package tracking

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Work is what a command does to a database: statements, in order.
type Work struct {
	Engine     string
	Changes    *engine.ChangeTable
	Statements []string
	// AtOnce says that they are one transaction.
	AtOnce bool
	// Done says that there is nothing to do.
	Done bool
	// Rights are what it takes, Unseen are the writes to the table that no trigger sees: for people.
	Rights string
	Unseen []string
	// Writer is how a writer says that its writes are not to be told of; "" where all are.
	Writer string
	// Dropped are columns that a history has no more.
	Dropped []string
	// Read is what the poller's login reads, and Grant what it must be granted on that.
	Read  []string
	Grant string
}

// found is a table and what is there of its change table.
type found struct {
	table   engine.Table
	changes *engine.ChangeTable
	own     *engine.Table // nil where there is none
	faults  []string
	renew   []string // the statements that bring what an older version installed up to date
}

// ask has a connection for some questions.
func ask(ctx context.Context, to engine.Connection, work func(*sql.Conn) error) error {
	db := to.DB(1)
	defer func() { _ = db.Close() }() // nothing is under way
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	return work(conn)
}

var errNoTable = errors.New("could not find table")

// find reads the catalog. of is Of, or named.
func find(ctx context.Context, d engine.Dialect, conn *sql.Conn, table, name, whose string, writes Writes,
	of func(engine.Dialect, *engine.Table, string, string, Writes) (*engine.ChangeTable, error)) (f found, err error) {
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
	if f.changes, err = of(d, &f.table, name, whose, writes); err != nil {
		return f, err
	}
	t := d.Syntax().Tracking
	if t.BuiltIn != nil {
		if f.faults, err = t.Faults(ctx, conn, f.changes); len(f.faults) == 0 {
			f.own = BuiltIn(t.BuiltIn, &f.table)
		}
		return f, err
	}
	if f.own, err = made(ctx, d, conn, f.changes); err != nil || f.own == nil {
		return f, err
	}
	f.faults, err = t.Faults(ctx, conn, f.changes)
	switch {
	case err != nil:
	case f.changes.History != nil:
		f.renew, err = renewHistory(ctx, d, conn, &f, writes.exact)
	case t.Renew != nil:
		f.renew, err = t.Renew(ctx, conn, f.changes)
	}
	return f, err
}

// made is the change table where there is one. What stands in its place, or in that of its state, and is somebody's own
// is an error: nothing must be done to it.
func made(ctx context.Context, d engine.Dialect, conn *sql.Conn, c *engine.ChangeTable) (own *engine.Table, err error) {
	type part struct {
		name    string
		columns []string
	}
	state := part{c.State(), []string{engine.StateFloor}}
	if d.Syntax().Tracking.Snapshots && c.History == nil {
		state.columns = append(state.columns, engine.StatePurged)
	}
	parts := []part{{c.Marks(), []string{"taken", engine.ChangeVersion}}, state,
		{c.Name, []string{engine.ChangeVersion, engine.ChangeCreated}}}
	if c.History != nil {
		parts = []part{state, {c.Name, []string{engine.HistoryChange, engine.HistoryOperation}}}
	}
	for _, of := range parts {
		t, err := d.Table(ctx, conn, c.Beside(of.name))
		switch {
		case errors.Is(err, engine.ErrNoTable):
			own = nil
			continue
		case err != nil:
			return nil, fmt.Errorf("read the catalog for %s: %w", of.name, err)
		case !holds(&t, of.columns...):
			return nil, foreign(c, of.name)
		}
		own = &t
	}
	return own, nil
}

// Install says what it takes to have triggers keep a change table. table, name and whose are source__table,
// source__track_table and the poller. A change table that does not fit its table any more
// is ErrConfig: it has to be uninstalled first.
func Install(ctx context.Context, to engine.Connection, table, name, whose string, writes Writes) (w Work,
	err error) {
	writes.exact = len(writes.Columns) > 0
	return w, ask(ctx, to, func(conn *sql.Conn) error {
		f, err := find(ctx, to.Dialect, conn, table, name, whose, writes, Of)
		if err != nil {
			return err
		}
		s := to.Dialect.Syntax()
		t := s.Tracking
		w = Work{Engine: s.Name, Changes: f.changes, AtOnce: t.AtOnce, Rights: t.Rights, Grant: t.Grant,
			Read: []string{f.changes.Of}}
		if t.BuiltIn == nil {
			w.Read = append(w.Read, f.changes.In(s.Quote, f.changes.Name), f.changes.In(s.Quote, f.changes.State()))
		}
		if f.own != nil {
			if err := f.fits(to.Dialect); err != nil {
				return err
			}
			w.Done = len(f.faults)+len(f.renew) == 0
		}
		others, err := t.Others(ctx, conn, f.changes)
		if err != nil {
			return fmt.Errorf("read whose the change table is: %w", err)
		}
		if len(others) > 0 && !w.Done {
			return fmt.Errorf("%w: the change table %s is that of %s, whose triggers keep it. If that is what this table was before "+
				"another took its name (RENAME, gh-ost), run rowrelay track uninstall %[4]s and then rowrelay track install %[4]s; otherwise name "+
				"another change table by source__track_table", poller.ErrConfig, f.changes.Name, strings.Join(others, ", "), whose)
		}
		if t.Able != nil {
			if err := t.Able(ctx, conn); err != nil {
				return err
			}
		}
		declared, err := t.Declare(ctx, conn, f.changes)
		if err != nil {
			return fmt.Errorf("read the key's columns: %w", err)
		}
		if w.Unseen, err = t.Unseen(ctx, conn, f.changes); err != nil {
			return fmt.Errorf("read what the triggers do not see: %w", err)
		}
		if h := f.changes.History; h != nil {
			w.Dropped = slices.DeleteFunc(slices.Clone(h.Has), func(name string) bool {
				return slices.Contains(h.Columns, strings.TrimPrefix(name, engine.HistoryWas))
			})
		}
		if f.changes.Ignored != "" {
			w.Writer = fmt.Sprintf(t.Contexts, f.changes.Ignored)
		}
		switch {
		case f.own != nil && len(f.faults) == 0 && len(f.renew) > 0:
			w.Statements = f.renew
		case f.changes.History != nil:
			w.Statements = t.Histories.Install(f.changes, declared, true)
		default:
			w.Statements = t.Install(f.changes, declared)
		}
		return nil
	})
}

// fits refuses a change table that is not that of its table any more, or records something else.
func (f *found) fits(d engine.Dialect) error {
	if f.changes.History != nil {
		return fitsHistory(&f.table, f.own, f.changes)
	}
	if _, err := Join(d, &f.table, f.own, f.changes); err != nil {
		return err
	}
	if other := watchesOthers(f.own, f.changes); other != "" {
		return stale(f.changes, other)
	}
	return nil
}

// watchesOthers says that a change table records the writes of other columns than those that are asked for: whoever
// makes the triggers anew would end that.
func watchesOthers(own *engine.Table, c *engine.ChangeTable) string {
	for i := range own.Columns {
		if name := own.Columns[i].Name; strings.HasPrefix(name, engine.ChangeTouched+"_") && name != c.Touched() {
			return "it records other writes (another source__changed or source__ignore_context; a second change table, by " +
				"source__track_table, keeps both)"
		}
	}
	return ""
}

// Uninstall says what it takes to remove the triggers and the change table.
func Uninstall(ctx context.Context, to engine.Connection, table, name, whose string, writes Writes) (w Work,
	err error) {
	return w, ask(ctx, to, func(conn *sql.Conn) error {
		f, err := find(ctx, to.Dialect, conn, table, name, whose, writes, named)
		if errors.Is(err, errNoTable) {
			f.changes, err = leftBehind(ctx, to.Dialect, conn, table, name, writes, err)
		}
		if err != nil {
			return err
		}
		t := to.Dialect.Syntax().Tracking
		if t.Copies != nil {
			if f.changes.Copies, err = t.Copies(ctx, conn, f.changes); err != nil {
				return fmt.Errorf("read the triggers: %w", err)
			}
		}
		w = Work{Engine: to.Engine, Changes: f.changes, AtOnce: t.AtOnce, Statements: t.Uninstall(f.changes)}
		return nil
	})
}

// leftBehind finds the change table of a table that was dropped, and with it the triggers.
func leftBehind(ctx context.Context, d engine.Dialect, conn *sql.Conn, table, name string, writes Writes,
	noTable error) (*engine.ChangeTable, error) {
	parts, err := engine.SplitName(table)
	if err != nil || d.Syntax().Tracking.BuiltIn != nil { // that goes with its table
		return nil, noTable
	}
	if name == "" {
		name = DefaultName(parts[len(parts)-1], writes.Every)
	}
	parts[len(parts)-1] = name
	c := &engine.ChangeTable{OfParts: parts, Name: name}
	if writes.Every {
		c.History = &engine.History{}
	}
	own, err := made(ctx, d, conn, c)
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, noTable
	}
	if parts, err = engine.SplitName(own.From); err != nil {
		return nil, noTable
	}
	return &engine.ChangeTable{OfParts: parts, Name: parts[len(parts)-1]}, nil
}

// Notes are what people have to know of the work, each in a sentence.
func (w *Work) Notes() (notes []string) {
	if w.Rights != "" {
		notes = append(notes, "Rights: "+w.Rights+".")
	}
	if len(w.Read) > 0 {
		notes = append(notes, "Rows that are there already are told of when they are written next, or first of all: "+
			"source__start=snapshot.")
		if w.Grant != "" {
			notes = append(notes, "The login of source__connection needs no more than GRANT "+w.Grant+" ON each of "+
				strings.Join(w.Read, ", ")+".")
		}
	}
	if len(w.Dropped) > 0 {
		notes = append(notes, "No longer recorded: "+strings.Join(w.Dropped, ", ")+". Changes that were not delivered yet "+
			"come without, also to other pollers that read this history.")
	}
	if w.Writer != "" {
		notes = append(notes, "Writes are left out whose transaction says: "+w.Writer+".")
	}
	for _, text := range w.Unseen {
		notes = append(notes, "Not seen: "+text+".")
	}
	return notes
}

// Script is the statements as a program of the engine reads them: psql, sqlite3, mysql.
func (w *Work) Script() string {
	var b strings.Builder
	if w.AtOnce {
		b.WriteString("BEGIN;\n")
	}
	for _, statement := range w.Statements {
		if w.Engine == "mysql" && strings.Contains(statement, "\nBEGIN") { // else the first semicolon would end it
			b.WriteString("DELIMITER //\n" + statement + "//\nDELIMITER ;\n")
			continue
		}
		b.WriteString(statement + ";\n")
	}
	if w.AtOnce {
		b.WriteString("COMMIT;\n")
	}
	return b.String()
}

// Apply runs the statements. Where they are no transaction, one that fails leaves those before it, and the same work
// can be done again.
func (w *Work) Apply(ctx context.Context, db *sql.DB) error {
	if !w.AtOnce { // on one connection: what is set, and locked, is the session's
		conn, err := db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		defer func() { _ = conn.Close() }()
		if err := w.run(ctx, conn); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // not to be used again
			return err
		}
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := w.run(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (w *Work) run(ctx context.Context, on interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}) error {
	for i, statement := range w.Statements {
		if _, err := on.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("statement %d of %d: %w", i+1, len(w.Statements), err)
		}
	}
	return nil
}
