// Package admin is what a person does with a poller, beside letting it run: pause and resume it, move its position,
// accept a changed source, copy or import a position, send rows again, and decide about events that were given up.
//
// A [Document] is a poller's output with a state document, an [Outbox] a poller whose position is the state of its
// rows. Their methods find out what a change would do and return a [Plan], which [Plan.Apply] carries out. Nothing is
// asked and nothing printed here: commands show the plan and ask, the status page applies it at once.
//
// Every change of a document is one compare-and-swap on the version that the plan was made from, or an amendment that a
// lease at work bears. Every change is written to the log, with who made it.
//
// Three kinds of errors are told apart: [Nothing] says that there was nothing to do, [Refusal] what stands against a
// change and how to remedy that. Any other error is of a store or a database that did not do its part.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Document is the state document of one output, and what is needed to change it. One person uses it at a time.
type Document struct {
	App, Poller string
	// Output is its name, "" for the poller's own, or that of a named backfill: see [BackfillPrefix].
	Output string
	// Key is where the document lies in Store. Keeper reads and writes it.
	Key    string
	Keeper *state.Keeper
	Store  state.Store
	// Letters are the dead letters in the store. Queue is the queue that they go to instead, "" for none.
	Letters Letters
	Queue   string
	// Source and Positions are of the same source. Pausing, resuming and breaking a lease need neither.
	Source    checkpointed.Source
	Positions Positions
	// Ordering and MaxParked are the settings.
	Ordering  poller.Ordering
	MaxParked int
	// By is the person, for the document and the log.
	By  string
	Log *slog.Logger
	// Progress is told how far long work is; total is 0 where that is not known. It may be nil.
	Progress func(done, total int64, line string)

	snap *state.Snapshot // as it was found when the plan was made
}

// Letters are dead letters in a store. *deadletter.Store implements it.
type Letters interface {
	Get(ctx context.Context, name string) (deadletter.Entry, error)
	List(ctx context.Context, f deadletter.Filter, each func(deadletter.Entry) error, progress func(done, total int)) error
	Delete(ctx context.Context, e deadletter.Entry) error
}

// Positions tells about positions of a source.
type Positions interface {
	// Count counts the rows of a range.
	Count(ctx context.Context, r change.Range) (int64, error)
	// CountUpTo stops counting at most rows.
	CountUpTo(ctx context.Context, r change.Range, most int) (int64, error)
	// Latest is the position of the last row that there is now.
	Latest(ctx context.Context) (change.Cursor, error)
	// Position is that of a value of the cursor: at the row with this key, or with ties before or after all rows of the
	// value.
	Position(ctx context.Context, value string, key map[string]string, ties string) (change.Cursor, error)
	// Before is the position of the last row below one's cursor: from there the row comes again. Where it is not known
	// no position brings the row.
	Before(ctx context.Context, row change.Cursor) (at change.Cursor, known bool, err error)
	// Ahead reports whether no row stands at a position or above it.
	Ahead(ctx context.Context, at change.Cursor) (bool, error)
	// Gap returns an error that wraps poller.ErrGap where a position is ahead of the source.
	Gap(ctx context.Context, at change.Cursor) error
}

// Nothing says why there was nothing to do. Nothing was changed, and nothing failed.
type Nothing struct{ Why string }

// Error is Why.
func (n *Nothing) Error() string { return n.Why }

func nothing(format string, args ...any) error { return &Nothing{fmt.Sprintf(format, args...)} }

// Mistake is what was asked for and makes no sense, whatever the poller is.
type Mistake struct{ Text string }

// Error is the text.
func (m *Mistake) Error() string { return m.Text }

func mistake(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }

// Refusal says why something cannot be done as things stand.
type Refusal struct {
	Err error
	// Remedy is what to do about it, "" where Err says it.
	Remedy string
	// Missing: there is no such document or event.
	Missing bool
}

// Error is that of Err, with the remedy.
func (r *Refusal) Error() string {
	if r.Remedy == "" {
		return r.Err.Error()
	}
	return r.Err.Error() + ": " + r.Remedy
}

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

// load reads the document. A *state.DocumentError says that it cannot be read.
func (d *Document) load(ctx context.Context) error {
	snap, err := d.Keeper.Load(ctx)
	if errors.Is(err, state.ErrNotFound) {
		return &Refusal{Missing: true, Err: fmt.Errorf("%s: there is no state document yet", d.Key),
			Remedy: "the first tick that runs creates it"}
	}
	d.snap = snap
	return poller.NameDocument(err, d.address())
}

// loadFree reads a document whose lease nobody holds.
func (d *Document) loadFree(ctx context.Context) error {
	if err := d.load(ctx); err != nil {
		return err
	}
	return d.free()
}

// free refuses while an instance holds the lease.
func (d *Document) free() error {
	if held := d.snap.Held(); held != nil {
		return d.busy(held)
	}
	return nil
}

// busy says that somebody holds the lease, and what to do.
func (d *Document) busy(held *state.HeldError) error {
	if strings.HasPrefix(d.Output, BackfillPrefix) {
		return &Refusal{Err: held, Remedy: "stop the process that sends this backfill (Ctrl-C): it gives the lease " +
			"back. If it has died, wait until the lease has run out"}
	}
	return &Refusal{Err: held, Remedy: fmt.Sprintf("pause the poller first (rowrelay state pause %s): it gives the lease "+
		"back. If the holder has died, wait, or take the lease from it (rowrelay state reset %[1]s --break-lease)",
		d.address())}
}

// address is how commands name the document.
func (d *Document) address() string { return poller.Address(d.Poller, d.Output) }

// reached is how far rows were delivered.
func (d *Document) reached() change.Cursor { return checkpointed.Frontier(&d.snap.Doc) }

// progress tells how far work is.
func (d *Document) progress(done, total int, line string) {
	if d.Progress != nil {
		d.Progress(int64(done), int64(total), line)
	}
}

// audit writes to the log what an operator did: who, what, from where to where.
func (d *Document) audit(event string, args ...any) {
	d.Log.Warn("an operator changed the state",
		append([]any{"event", event, "poller", d.Poller, "output", d.Output, "by", d.By}, args...)...)
}

// readParked reads the parked events, of the document as it is by then.
func (d *Document) readParked(ctx context.Context) (entries []parking.Entry, err error) {
	entries, d.snap, err = parking.ReadNewest(ctx, d.Keeper, d.snap)
	return entries, parking.Unread(err, d.address())
}
