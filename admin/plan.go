package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// Plan is a change that was worked out, and not made yet.
type Plan struct {
	// Notes say what could not be found out. They are set also where no plan could be made.
	Notes []string
	// What says what Apply will do, in sentences.
	What string
	// Key and Reached are the document that is changed, and how far its rows were delivered. Key is "" where that is
	// none.
	Key     string
	Reached change.Cursor

	apply func(ctx context.Context, r *Result) error
}

// Result is what was done.
type Result struct {
	// Notes say what happened on the way. They are set also where Apply fails.
	Notes []string
	// Text says what was done; "" where nothing was.
	Text string
	// Count is how many dead letters or parked events it was done with; 0 where it is about none.
	Count int
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// counted says with how many it was done.
func (r *Result) counted(n int) {
	r.Count = n
	r.say("done: %d", n)
}

func (r *Result) say(format string, args ...any) { r.Text = fmt.Sprintf(format, args...) }

// Apply makes the change. A plan is applied once. A result may say what was done where an error says what was not.
func (p *Plan) Apply(ctx context.Context) (Result, error) {
	var r Result
	err := p.apply(ctx, &r)
	if err == nil && r.Text == "" {
		r.Text = "done"
	}
	return r, err
}

// plan begins a plan about the document as it was loaded.
func (d *Document) plan(format string, args ...any) Plan {
	return Plan{What: fmt.Sprintf(format, args...), Key: d.Key, Reached: d.reached()}
}

// edit changes the document where nobody holds the lease.
func (d *Document) edit(ctx context.Context, edit func(*state.Document)) error {
	_, err := d.Keeper.Edit(ctx, d.snap, edit)
	return err
}

// skip notes an advance in the document.
func (d *Document) skip(doc *state.Document, from, to change.Cursor, rows int64) {
	doc.Skips = append(doc.Skips, state.Skip{At: time.Now(), By: d.By, From: from, To: to, Rows: rows})
	if n := len(doc.Skips) - state.MaxSkips; n > 0 {
		doc.Skips = doc.Skips[n:]
	}
}

// forget notes rows that were parked and are dropped: nobody sends them any more, wherever the position is.
func (d *Document) forget(doc *state.Document, rows int) {
	if rows > 0 {
		d.skip(doc, doc.Checkpoint.Cursor, doc.Checkpoint.Cursor, int64(rows))
	}
}

// move puts the checkpoint somewhere else. The memory of late commits, and what order keys that are read apart have
// not delivered, belong to the old position: they are forgotten.
func move(doc *state.Document, to change.Cursor) {
	if !to.Equal(doc.Checkpoint.Cursor) {
		doc.Checkpoint.Cursor, doc.Apart = to, nil
	}
	doc.Late, doc.Checkpoint.Gap = state.Late{Mode: doc.Late.Mode}, ""
}
