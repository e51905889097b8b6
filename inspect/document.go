package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Document is a state document as it was read.
type Document struct{ *state.Snapshot }

// Read reads the output's state document. state.ErrNotFound says that there is none yet.
func (o *Output) Read(ctx context.Context) (Document, error) {
	snapshot, err := o.keeper.Load(ctx)
	return Document{snapshot}, poller.NameDocument(err, o.address)
}

// ParkedEvents reads the parked events of a document.
func (o *Output) ParkedEvents(ctx context.Context, d Document) ([]checkpointed.ParkedEntry, error) {
	if d.Doc.Parked.Object == "" {
		return []checkpointed.ParkedEntry{}, nil
	}
	data, err := o.keeper.Object(ctx, d.Doc.Parked.Object)
	if err != nil {
		return nil, fmt.Errorf("reading the parked events: %w", err)
	}
	return checkpointed.DecodeParked(data)
}

// Frontier is how far rows were delivered: live rows are fetched after it. With overlap the checkpoint is the low edge
// of the window of late commits, below it.
func (d Document) Frontier() change.Cursor {
	doc := &d.Doc
	if doc.Late.Mode == string(late.Overlap) && !doc.Late.Frontier.IsStart() {
		return doc.Late.Frontier
	}
	return doc.Checkpoint.Cursor
}

// take puts what a document says into the output.
func (o *Output) take(d Document) {
	low, frontier := d.Doc.Checkpoint.Cursor, d.Frontier()
	o.Position, o.Parked = low.String(), d.Doc.Parked.Count
	if d.Doc.Late.Mode == string(late.Overlap) && !d.Doc.Late.Frontier.IsStart() {
		o.Position = fmt.Sprintf("%s (the low edge of late_window: rows are delivered up to %s)", low, frontier)
	}
	if held := d.Held(); held != nil {
		o.Lease = held.Error()
	}
	if p := d.Paused(); p != nil { // not one that has ended by itself
		o.Paused = fmt.Sprintf("by %s since %s", p.By, p.At.UTC().Format(time.RFC3339))
	}
}

// startError is why the source could not say where a poller without a document begins.
type startError struct{ error }

func (e *startError) Unwrap() error { return e.error }

// position reads the output's document, and returns where its next tick begins.
func (p *Poller) position(ctx context.Context, o *Output) (change.Cursor, error) {
	d, err := o.Read(ctx)
	if errors.Is(err, state.ErrNotFound) {
		start, _, err := p.wired.Source.Start(ctx)
		if err != nil {
			return nil, &startError{err}
		}
		o.Position = fmt.Sprintf("%s (no document yet: source__start)", start)
		return start, nil
	}
	if err != nil {
		return nil, err
	}
	o.take(d)
	source, err := p.wired.Source.Describe(ctx)
	if err != nil {
		return d.Frontier(), nil //nolint:nilerr // the source's own check says it
	}
	return d.Frontier(), d.unlike(source, o.Document, o.address)
}

// unlike says that the document was written for another source than this one.
func (d Document) unlike(source checkpointed.Description, key, name string) error {
	doc := &d.Doc
	switch was := doc.Late.Mode; {
	case source.Fingerprint != doc.SourceFingerprint:
		return fmt.Errorf("the state document %s was written for another source definition: undo the change, or run "+
			"`rowrelay state accept-fingerprint %s`, or start over with `rowrelay state reset %[2]s --to beginning`", key, name)
	case was != "" && was != string(source.Late):
		return fmt.Errorf("late_commits was %s when the state document %s was written, and is now %s: write "+
			"source__late_commits=%[1]s, or run `rowrelay state accept-fingerprint %[4]s`, or start over with `rowrelay state reset %[4]s --to beginning`",
			was, key, source.Late, name)
	case doc.Checkpoint.Columns != "" && source.Columns != "" && doc.Checkpoint.Columns != source.Columns:
		return fmt.Errorf("the columns of the cursor or key had other types when the state document %s was written (%s, now %s): change "+
			"the types back, or run `rowrelay state accept-fingerprint %s`, or start over with `rowrelay state reset %[4]s --to beginning`",
			key, doc.Checkpoint.Columns, source.Columns, name)
	}
	return nil
}
