package source

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/counter"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/spelling"
	"github.com/rowrelay/rowrelay/tracking"
)

// Check is what `rowrelay check` shows of a source.
type Check struct {
	checkpointed.Description
	// Version is the engine's, for people.
	Version string
	// Incarnation is the database's; "" where it cannot be known.
	Incarnation string
	// First reads the first page, Next every page after a row, for the batch size that was asked for.
	First, Next Statement
	// Index is the index that serves the order; "" when none does or the catalog cannot tell. CreateIndex is the
	// statement that makes one; "" when there is one, and for queries and views.
	Index, CreateIndex string
	// Plan is the engine's own account of how it runs Next; "" where it cannot tell without running it.
	Plan string
	// LateAuto says that source__late_commits=auto chose Late, and LateWhy what decided.
	LateAuto bool
	LateWhy  string
	// DDL makes a cursor for source__late_commits=exact, for people to run; "" where there is one already, or none can be
	// made.
	DDL string
	// KeyProof says how the key is known to be unique, or why it is not.
	KeyProof string
	// Columns are those of an event's row, with their types, in order; Catalog is what is known of them, and KeyColumns
	// those of the key.
	Columns             []Param
	Catalog, KeyColumns []engine.Column
	// Events are the first rows as they would be sent from the position that the check was given. ReadError is why there
	// are no more of them.
	Events    []change.Event
	ReadError error
	// Ahead says that the position is above all rows, and what is never delivered; "" where it is not, or no index shows
	// that.
	Ahead string
	// Retained is for how long the engine's own change tracking keeps changes, for people; "" where it is not known.
	Retained string
	// NullCursors counts the rows without a cursor; -1 when it was not counted, and 0 where the column cannot be NULL.
	NullCursors int64
}

// Statement is a statement as it is sent.
type Statement struct {
	Text string
	// Params are the placeholders' columns, in the order of the placeholders.
	Params []Param
}

// Param is a column with its type.
type Param struct{ Name, Type string }

// Check looks at everything that a tick would use, and moves nothing. It shows up to n rows after a position, and the
// statements for pages of batch rows.
func (c *Cursor) Check(ctx context.Context, after change.Cursor, n, batch int) (Check, error) {
	c.replan() // a check shows what the catalog says now, warnings included
	d, err := c.Describe(ctx)
	if err != nil {
		return Check{}, err
	}
	p, err := c.current(ctx)
	if err != nil {
		return Check{}, err
	}
	first, next := c.strategy(p.Live()).statements(batch + 1)
	out := Check{
		Description: d,
		First:       shown(p, first), Next: shown(p, next),
		Index: p.IndexName, CreateIndex: p.IndexAdvice,
		LateAuto: p.Late.Auto, LateWhy: p.Late.Why, DDL: p.DDL(),
		KeyProof:    p.KeyProof,
		NullCursors: -1,
	}
	for _, col := range p.Sel.Columns[:len(p.Names)] {
		out.Columns = append(out.Columns, Param{col.Name, col.Type})
		out.Catalog = append(out.Catalog, col)
	}
	for _, col := range p.KeyColumns() {
		out.KeyColumns = append(out.KeyColumns, *col)
	}
	var forms error
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) (err error) {
		if err = c.look(ctx, s, p, batch, &out); err == nil {
			forms = c.lookAtForms(ctx, s, p, &out)
		}
		return err
	})
	if err != nil {
		return Check{}, fmt.Errorf("check the source: %w", err)
	}
	out.Events, err = c.firstWanted(ctx, p, after, poller.Limit{Rows: max(n, 1), Bytes: 1 << 20})
	if out.ReadError = err; err == nil && forms != nil {
		out.ReadError = fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), forms)
	}
	if out.ReadError == nil && len(out.Events) == 0 {
		if out.Ahead, err = c.named(ctx, p, after); err != nil {
			return Check{}, fmt.Errorf("check the source: %w", err)
		}
	}
	return out, nil
}

// named is what a tick warns of a position that no row gave.
func (c *Cursor) named(ctx context.Context, p *plan.Plan, at change.Cursor) (warning string, err error) {
	if at.IsStart() || p.ChangeTable() != nil || p.ByWindows() || p.Counted(at) {
		return "", nil
	}
	pos, err := p.Decode(at)
	if err != nil {
		return "", err
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) (err error) {
		warning, err = counter.Named(ctx, s.Conn, p, at, pos)
		return err
	})
	return warning, err
}

// leftOutPages is how many pages without a wanted event a check reads.
const leftOutPages = 10

// firstWanted reads the first events after a position that would be sent. What the settings leave out is passed, a few
// pages of it.
func (c *Cursor) firstWanted(ctx context.Context, p *plan.Plan, after change.Cursor,
	limit poller.Limit) ([]change.Event, error) {
	n := limit.Rows
	for range leftOutPages {
		page, err := c.wantedPage(ctx, p, change.Range{After: after}, limit)
		if err != nil || len(page.Events) > 0 || !page.More || page.To == nil {
			return page.Events[:min(n, len(page.Events))], err
		}
		after, limit.Rows = page.To, max(n, 1000)
	}
	return nil, nil
}

// lookAtForms looks at all stored times of the cursor. Where the last row's day has another form, ticks will refuse it,
// which is the error; where only older rows have, it is a warning: a tick refuses those as well where the days of two
// forms meet.
func (c *Cursor) lookAtForms(ctx context.Context, s *pool.Session, p *plan.Plan, out *Check) error {
	if !p.StoredTimes {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout))
	defer cancel()
	last, err := c.latest(ctx, s, p)
	var now, ever error
	if err == nil {
		now, ever, err = spelling.Check(ctx, s.Conn, p, last)
	}
	switch {
	case err != nil:
		out.Warnings = append(out.Warnings, "whether the cursor's times are all of one form could not be seen: "+err.Error())
	case now == nil && ever != nil:
		out.Warnings = append(out.Warnings, ever.Error())
	}
	return now
}

// look asks what only the database knows.
func (c *Cursor) look(ctx context.Context, s *pool.Session, p *plan.Plan, batch int, out *Check) error {
	out.Version, out.Incarnation = s.Server.Version, s.Server.Incarnation
	nulls := p.Sel.Nulls(true)
	n, err := count(ctx, s, nulls)
	if err != nil {
		return err
	}
	out.NullCursors = n
	if kept := p.ChangeTable(); kept != nil {
		unseen, err := p.Syntax.Tracking.Unseen(ctx, s.Conn, kept)
		if err != nil {
			return err
		}
		out.Warnings = append(out.Warnings, unseen...)
		if renew := p.Syntax.Tracking.Renew; renew != nil && p.History == nil {
			old, err := renew(ctx, s.Conn, kept)
			if err != nil {
				return err
			}
			if len(old) > 0 {
				out.Warnings = append(out.Warnings, tracking.Outdated(kept))
			}
		}
	}
	if own := p.BuiltIn(); own != nil {
		if out.Retained, err = own.Retained(ctx, s.Conn); err != nil {
			return err
		}
	}
	out.Plan, err = c.strategy(p.Live()).explain(ctx, s, batch)
	return err
}

// shown is a statement for people.
func shown(p *plan.Plan, s keyset.Statement) Statement {
	out := Statement{Text: s.Text}
	for _, i := range s.Args {
		n := len(p.Sel.Order)
		col := p.Sel.Order[i%n]
		if i >= keyset.OwnValues {
			col = s.Values[i-keyset.OwnValues].Col
		}
		out.Params = append(out.Params, Param{col.Name, col.Type})
	}
	return out
}

// CursorColumn is what the catalog says of a column of the cursor.
type CursorColumn struct {
	Name, Type string
	// Nullable is what the catalog says; every column of a query counts as nullable. Query says that it is one's.
	Nullable, Query bool
	// Moved says how updates are known to move the column; "" where nothing says that they do.
	Moved string
	// Step is the resolution of a time: two writes within it may have one value. 0: no time, or one that SQLite stores as
	// it comes.
	Step time.Duration
	// Float says that values are binary floating point.
	Float bool
}

// CursorColumns describes the cursor's columns.
func (c *Cursor) CursorColumns(ctx context.Context) ([]CursorColumn, error) {
	if _, err := c.Describe(ctx); err != nil {
		return nil, err
	}
	p, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	if p.ChangeTable() != nil {
		col := &p.Sel.Order[0]
		return []CursorColumn{{Name: col.Name, Type: col.Type, Moved: "is set with every write",
			Step: plan.StepOf(&p.Syntax, col)}}, nil
	}
	columns := make([]CursorColumn, 0, p.Sel.Cursors)
	for i := range p.Sel.Order[:p.Sel.Cursors] {
		col := &p.Sel.Order[i]
		columns = append(columns, CursorColumn{
			Name: col.Name, Type: col.Type, Nullable: col.Nullable, Query: p.Sel.Query != "" || p.Table.View,
			Moved: plan.MovedBy(col), Step: plan.StepOf(&p.Syntax, col), Float: col.Value.Kind == engine.KindFloat,
		})
	}
	return columns, nil
}
