// Package sqltable writes rows into a table of another database: upserts and deletes by the event's key, columns by
// name, several rows in a statement.
//
// The effect is exactly once. A second table, the guard ([Output.DDL]), keeps for each key the fencing token and number
// of the request that wrote it last, and the id of its event; a delete leaves its row there. Both tables change in one
// transaction, which locks the guard's rows first:
//   - an event whose id is the stored one is there already, and changes nothing;
//   - a request below the stored pair is late, and is refused. Its sender has given it up, so that nobody waits for it.
//     It is not taken for delivered: where a state document was deleted, tokens begin at 1 again, and events would be
//     lost silently. Then every request is refused (enter).
package sqltable

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// refreshAfter is how old the catalog is before a row that is refused has it read again.
const refreshAfter = time.Second

// New returns an output. It does not connect.
func New(cfg Config) (*Output, error) {
	w, ok := wordsOf[cfg.Connection.Engine]
	if !ok {
		return nil, fmt.Errorf("%w: no rows are written into engine %q", change.ErrConfig, cfg.Connection.Engine)
	}
	parts, err := engine.SplitName(cfg.Table)
	if err != nil {
		return nil, fmt.Errorf("%w: output__table %q is not the name of a table: %w", change.ErrConfig, cfg.Table, err)
	}
	if w.single {
		cfg.Connections = 1
	}
	table := statement.NewName(w.syntax, parts...)
	scope := cfg.Sender + " " + table.Base()
	if len(scope) > maxScope {
		scope = fmt.Sprintf("%x", sha256.Sum256([]byte(scope)))
	}
	return &Output{words: w, cfg: cfg, db: cfg.Connection.WriteDB(max(1, cfg.Connections)), parts: parts, table: table,
		guard: table.Beside(statement.NewName(w.syntax, guardTable)), scope: scope}, nil
}

// Close closes the connections.
func (o *Output) Close() error { return o.db.Close() }

// Deliver writes the events in one transaction. Where the database refuses a row, each is written by itself, so that
// the fault is told of its own event.
func (o *Output) Deliver(ctx context.Context, d change.Delivery) error {
	n := len(d.Events)
	if d.Backfill != "" {
		return poller.FailAll(n, poller.Unavailable, 0, errors.New("a backfill with a position of its own has no order "+
			"with live rows, and a table keeps no older state: end it, and backfill without a name"))
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	err := o.write(ctx, &d, all)
	if err != nil && (o.aboutRow(err) || errors.As(err, new(Lack))) && o.refresh() {
		err = o.write(ctx, &d, all)
	}
	switch {
	case err == nil:
		return nil
	case !o.aboutRow(err):
		return poller.FailAll(n, causeOf(err), 0, o.explain(ctx, err))
	}
	results := make([]output.Result, n)
	for i := range results {
		err := o.write(ctx, &d, all[i:i+1])
		switch {
		case err == nil:
		case o.aboutRow(err):
			results[i] = output.Result{Err: err, Cause: poller.Refused, Named: true}
		default:
			results[i] = output.Result{Err: o.explain(ctx, err), Cause: causeOf(err)}
		}
	}
	return output.Sum(results, "writing to "+o.table.String())
}

// causeOf is the cause of a failure that is about no row. A key that a later request wrote is not the event's fault
// although other keys are taken: Misplaced counts no attempt against it.
func causeOf(err error) poller.Cause {
	if errors.Is(err, errLate) {
		return poller.Misplaced
	}
	return poller.Unavailable
}

// explain adds what is to be done.
func (o *Output) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("writing to %s: %w", o.table, context.Cause(ctx))
	}
	mend := ""
	kind := o.cfg.Connection.Dialect.Classify(err)
	if errors.Is(err, engine.ErrNoTable) {
		kind = engine.FaultSchema
	}
	switch kind {
	case engine.FaultSchema:
		mend = "; the table and " + o.guard.String() + " have to be there: rowrelay check prints their DDL"
	case engine.FaultReadOnly:
		engine.Leave(o.db)
		mend = "; " + engine.AskWritable + " output__connection names"
	case engine.FaultDenied:
		mend = "; the user needs SELECT, INSERT, UPDATE and DELETE on " + o.table.String() + " and " + o.guard.String()
	}
	return output.Errorf(err, "writing to %s: %v%s", o.table, err, mend)
}

// aboutRow says that an error is about a row, not about the way to the database or its tables.
func (o *Output) aboutRow(err error) bool {
	if errors.As(err, new(rowFault)) {
		return true
	}
	switch o.cfg.Connection.Dialect.Classify(err) {
	case engine.FaultData, engine.FaultConstraint:
		return true
	case engine.FaultSyntax: // SQL Server's errors of conversion have this class
		return o.cfg.Connection.Engine == "sqlserver"
	}
	return false
}

// write writes some events in one transaction.
func (o *Output) write(ctx context.Context, d *change.Delivery, some []int) (err error) {
	defer func() {
		if err != nil && !o.aboutRow(err) {
			o.forget()
		}
	}()
	t, err := o.described(ctx)
	if err != nil {
		return err
	}
	if err := o.stopped(t); err != nil {
		return err
	}
	rows := map[int]*row{}
	last := map[string]int{} // the last event of each key wins
	for _, i := range some {
		if rows[i], err = o.read(t, &d.Events[i]); err != nil {
			return err
		}
		last[o.guardID(d.Events[i].KeyHash())] = i
	}
	tx, err := o.db.BeginTx(ctx, o.isolation)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // what failed is told; the connection is dropped where even this fails
		}
	}()
	if err := o.enter(ctx, tx, d); err != nil {
		return err
	}
	fresh, err := o.pass(ctx, tx, d, slices.Sorted(maps.Keys(last)), last) // sorted: two requests lock in one order
	if err != nil {
		return err
	}
	slices.Sort(fresh)
	if err := o.apply(ctx, tx, rows, fresh); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	o.entered.Store(d.Token)
	return nil
}

// writable tries a statement that deletes nothing: a server that is read-only refuses it as it would any write.
func (o *Output) writable(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "DELETE FROM "+o.guard.String()+" WHERE 1 = 0")
	if err == nil || o.cfg.Connection.Dialect.Classify(err) != engine.FaultReadOnly {
		return nil
	}
	return o.explain(ctx, err)
}

// Ready connects, reads the catalog, and says what stands in the way of writing rows with that key: a [Lack], or an
// error of the connection. It changes nothing. source is the engine of the columns.
func (o *Output) Ready(ctx context.Context, source string, key, columns []engine.Column) error {
	conn, err := o.db.Conn(ctx)
	if err != nil {
		return o.explain(ctx, err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	t, err := o.find(ctx, conn, o.parts)
	if errors.Is(err, engine.ErrNoTable) {
		return Lack(fmt.Sprintf("%s is not there, or its user may not see it. A table of all columns would be:\n%s",
			o.table, o.propose(source, key, columns)))
	}
	if err != nil {
		return o.explain(ctx, err)
	}
	if err := o.fits(t, namesOf(key)); err != nil {
		return err
	}
	guard := append(slices.Clone(o.parts[:len(o.parts)-1]), guardTable)
	switch _, err = o.find(ctx, conn, guard); {
	case errors.Is(err, engine.ErrNoTable) && o.cfg.Create:
		return nil
	case err == nil:
		return o.writable(ctx, conn)
	case errors.Is(err, engine.ErrNoTable):
		return Lack(fmt.Sprintf("%s, which keeps what was written last of each key, is not there: set state__create=true, "+
			"or create it:\n%s", o.guard, o.DDL()))
	}
	return o.explain(ctx, err)
}

// find reads the catalog for a table.
func (o *Output) find(ctx context.Context, conn *sql.Conn, parts []string) (*engine.Table, error) {
	t, err := o.cfg.Connection.Dialect.Table(ctx, conn, parts)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", strings.Join(parts, "."), err)
	}
	return &t, nil
}

// describedFor is how long what the catalog said is believed: MySQL's upsert into a table that has lost its key fails
// nowhere, and adds a row each time.
const describedFor = time.Minute

// described reads the catalog, now and then and after something failed or a row was refused (refresh), and makes the
// guard where that is asked for.
func (o *Output) described(ctx context.Context) (*engine.Table, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known != nil && time.Since(o.knownAt) < describedFor {
		return o.known, nil
	}
	conn, err := o.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	if o.cfg.Create && !o.guarded {
		if _, err := conn.ExecContext(ctx, o.DDL()); err != nil {
			return nil, err
		}
		o.guarded = true
	}
	o.known, err = o.find(ctx, conn, o.parts)
	o.knownAt = time.Now()
	return o.known, err
}

// refresh lets the catalog be read again where that was not done just now, after a row was refused by what it said.
func (o *Output) refresh() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.knownAt) < refreshAfter {
		return false
	}
	o.known = nil
	return true
}

// forget lets the catalog be read again: the table may have been altered.
func (o *Output) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = nil
}
