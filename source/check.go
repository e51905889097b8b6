package source

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Check is what `rowrelay check` shows of a source.
type Check struct {
	poller.Description
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
	// DDL makes a cursor for source__late_commits=exact, for people to run; "" where there is one already, or none can be made.
	DDL string
	// KeyProof says how the key is known to be unique, or why it is not.
	KeyProof string
	// Columns are those of an event's row, with their types, in order.
	Columns []Param
	// Events are the first rows as they would be sent from the position that the check was given. ReadError is why there
	// are no more of them.
	Events    []change.Event
	ReadError error
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
	p, _, err := c.current(ctx)
	if err != nil {
		return Check{}, err
	}
	first, next := c.liveStatements(p, batch+1)
	out := Check{
		Description: d,
		First:       p.shown(first), Next: p.shown(next),
		Index: p.indexName, CreateIndex: p.indexAdvice,
		LateAuto: p.late.auto, LateWhy: p.late.why, DDL: p.ddl(),
		KeyProof:    p.keyProof,
		NullCursors: -1,
	}
	for _, col := range p.sel.columns[:len(p.names)] {
		out.Columns = append(out.Columns, Param{col.Name, col.Type})
	}
	var forms error
	err = c.run(ctx, func(ctx context.Context, s *session) (err error) {
		if err = c.look(ctx, s, p, batch, &out); err == nil {
			forms = c.lookAtForms(ctx, s, p, &out)
		}
		return err
	})
	if err != nil {
		return Check{}, fmt.Errorf("check the source: %w", err)
	}
	page, err := c.livePage(ctx, p, poller.Range{After: after}, poller.Limit{Rows: max(n, 1), Bytes: 1 << 20})
	out.Events = page.Events
	if out.ReadError = err; err == nil && forms != nil {
		out.ReadError = fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), forms)
	}
	return out, nil
}

// lookAtForms looks at all stored times of the cursor. Where the last row's day has another form, ticks will refuse it, which is the
// error; where only older rows have, it is a warning: a tick refuses those as well where the days of two forms meet.
func (c *Cursor) lookAtForms(ctx context.Context, s *session, p *plan, out *Check) error {
	if !p.storedTimes {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout))
	defer cancel()
	last, err := c.latest(ctx, s, p)
	var now, ever error
	if err == nil {
		now, ever, err = c.checkForms(ctx, s, p, last)
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
func (c *Cursor) look(ctx context.Context, s *session, p *plan, batch int, out *Check) error {
	out.Version, out.Incarnation = s.server.Version, s.server.Incarnation
	nulls := p.sel.nulls(true)
	n, err := count(ctx, s, nulls)
	if err != nil {
		return err
	}
	out.NullCursors = n
	if p.late.exact == exactSnapshots {
		out.Plan, err = c.explainWindow(ctx, s, p, batch)
		return err
	}
	// The plan of the statement that runs most, for the last row there is: a plan without values would be another.
	st, args := p.sel.first(batch+1), []any(nil)
	last, err := c.latest(ctx, s, p)
	if err != nil {
		return err
	}
	if !last.IsStart() {
		pos, err := p.decode(last)
		if err != nil {
			return err
		}
		st = p.sel.after(batch + 1)
		if args, err = p.args(st, pos, nil); err != nil {
			return err
		}
	}
	if out.Plan, err = c.dialect.Explain(ctx, s.conn, st.text, args); err != nil {
		return err
	}
	return nil
}

// shown is a statement for people.
func (p *plan) shown(s statement) Statement {
	out := Statement{Text: s.text}
	for _, i := range s.args {
		n := len(p.sel.order)
		col := p.sel.order[i%n]
		if i >= ownValues {
			col = s.values[i-ownValues].col
		}
		out.Params = append(out.Params, Param{col.Name, col.Type})
	}
	return out
}
