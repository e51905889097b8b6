package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/state"
)

// document is the output's document, as a command of this process changes it.
func (p *process) document() *admin.Document {
	return &admin.Document{
		App: "app", Poller: "orders", Output: p.out.name, Key: p.out.key, Keeper: p.keeper(), Store: storeOf{p},
		Letters: recordsOf{p},
		Source:  sourceOf{p}, Positions: positionsOf{p}, Ordering: p.set.ordering, MaxParked: p.set.policy.MaxParked,
		By:  "op",
		Log: slog.New(slog.DiscardHandler),
	}
}

// done applies a plan. intent is what it is about, done when the document with other parked events lands; nil for
// nothing.
func (p *process) done(ctx context.Context, plan *admin.Plan, err error, intent func()) error {
	if err != nil {
		return err
	}
	p.intent = intent
	_, err = plan.Apply(ctx)
	return err
}

// positionsOf tells a process about positions of the table.
type positionsOf struct{ p *process }

// Count implements admin.Positions.
func (o positionsOf) Count(ctx context.Context, r change.Range) (n int64, err error) {
	err = sourceOf(o).read(ctx, "count", "after "+brief(r.After)+" up to "+brief(r.UpTo), func() (string, error) {
		low, err := placeOf(r.After)
		high, err2 := placeOf(r.UpTo)
		n = int64(len(o.p.w.table.between(low, high)))
		return fmt.Sprint(n), errors.Join(err, err2)
	})
	return n, err
}

// CountUpTo implements admin.Positions.
func (o positionsOf) CountUpTo(ctx context.Context, r change.Range, most int) (int64, error) {
	n, err := o.Count(ctx, r)
	return min(n, int64(most)), err
}

// Latest implements admin.Positions. No command here goes there but over a gap of changes whose order is exact: rows of
// open transactions would be passed over.
func (o positionsOf) Latest(ctx context.Context) (at change.Cursor, err error) {
	if o.p.w.pro.Clock {
		return nil, errors.New("no position was asked for")
	}
	err = sourceOf(o).read(ctx, "latest", "", func() (string, error) {
		at = o.p.w.table.latest().cursor()
		return brief(at), nil
	})
	return at, err
}

// Position implements admin.Positions: a value is a whole cursor.
func (o positionsOf) Position(_ context.Context, value string, _ map[string]string, _ string) (change.Cursor, error) {
	return change.Cursor(value), nil
}

// Before implements admin.Positions. No command here exports a position.
func (o positionsOf) Before(context.Context, change.Cursor) (change.Cursor, bool, error) {
	return nil, false, errors.New("no position was asked for")
}

// Ahead implements admin.Positions. No command here names a position that no row gave.
func (o positionsOf) Ahead(context.Context, change.Cursor) (bool, error) { return false, nil }

// Gap implements admin.Positions: the table's counter never goes back, and changes may be missing.
func (o positionsOf) Gap(ctx context.Context, at change.Cursor) error {
	if !o.p.w.pro.Tracked {
		return nil
	}
	return sourceOf(o).read(ctx, "gap", brief(at), func() (string, error) {
		p, err := placeOf(at)
		if err == nil {
			err = o.p.w.table.gapBelow(p)
		}
		return "none", err
	})
}

// to is a place as a command names it.
func (p place) to() string {
	if !p.begun {
		return "beginning"
	}
	return "cursor=" + string(p.cursor())
}

// recordsOf is a process's way to the dead letters.
type recordsOf struct{ p *process }

// entry is a record as the store has it.
func (o recordsOf) entry(r *record) deadletter.Entry {
	return deadletter.Entry{Name: o.name(r), Record: &deadletter.Record{
		ID: r.id, App: "app", Poller: "orders", Output: o.p.out.name, Key: json.RawMessage(r.key),
		OrderKey: json.RawMessage(r.orderKey),
	}}
}

func (o recordsOf) name(r *record) string {
	return deadletter.Name("app", "orders", o.p.out.name, r.id)
}

// find is the record of a name; nil for none.
func (o recordsOf) find(name string) *record {
	records := o.p.out.letters.records
	if at := slices.IndexFunc(records, func(r *record) bool { return o.name(r) == name }); at >= 0 {
		return records[at]
	}
	return nil
}

// Get implements admin.Letters.
func (o recordsOf) Get(ctx context.Context, name string) (e deadletter.Entry, err error) {
	err = o.ask(ctx, "read a dead letter", name, nil, func() error {
		r := o.find(name)
		if r == nil {
			return state.ErrNotFound
		}
		e = o.entry(r)
		return nil
	})
	return e, err
}

// List implements admin.Letters. No command here reads them all.
func (o recordsOf) List(context.Context, deadletter.Filter, func(deadletter.Entry) error, func(done, total int)) error {
	return errors.New("no list was asked for")
}

// Delete implements admin.Letters.
func (o recordsOf) Delete(ctx context.Context, e deadletter.Entry) error {
	l := o.p.out.letters
	gone := func() {
		l.records = slices.DeleteFunc(l.records, func(r *record) bool { return o.name(r) == e.Name })
	}
	return o.ask(ctx, "delete a dead letter", e.Name, gone, func() error { gone(); return nil })
}

// ask carries out a call of the place for dead letters, which may fail.
func (o recordsOf) ask(ctx context.Context, what, name string, wire func(), do func() error) (err error) {
	w, l := o.p.w, o.p.out.letters
	err = over
	o.p.ask(ctx, &call{what: what, arg: name, wire: wire, resolve: func(*call) bool {
		if err = ctx.Err(); err == nil && (l.down || w.fate(w.pro.LetterFail)) {
			err = errLetter
		} else if err == nil {
			err = do()
		}
		w.say(o.p.name, "%s: %s", what, verdict(err))
		return true
	}})
	return err
}
