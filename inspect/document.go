package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Read reads the output's state document. state.ErrNotFound says that there is none yet.
func (o *Output) Read(ctx context.Context) (*state.Snapshot, error) {
	snapshot, err := o.keeper.Load(ctx)
	return snapshot, poller.NameDocument(err, o.address)
}

// ParkedEvents reads the parked events of a document, and returns what it has become where it was written since.
func (o *Output) ParkedEvents(ctx context.Context, s *state.Snapshot) ([]parking.Entry, *state.Snapshot, error) {
	entries, s, err := parking.ReadNewest(ctx, o.keeper, s)
	return entries, s, parking.Unread(err, o.address)
}

// take puts what a document says into the output.
func (o *Output) take(d *state.Snapshot) {
	low, frontier := d.Doc.Checkpoint.Cursor, checkpointed.Frontier(&d.Doc)
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
		if o.gone != nil {
			if err := o.gone(ctx); err != nil {
				return nil, err
			}
		}
		start, _, err := p.wired.Source.Start(ctx)
		if err != nil {
			return nil, &startError{err}
		}
		o.Position = fmt.Sprintf("%s (no document yet: source__start)", start)
		if p.Config.Source.Start == "snapshot" {
			o.Position += "; beside the changes every row that the table has is delivered"
		}
		return start, nil
	}
	if err != nil {
		return nil, err
	}
	o.take(d)
	from := checkpointed.Frontier(&d.Doc)
	if _, _, err := o.ParkedEvents(ctx, d); err != nil {
		return from, err
	}
	source, err := p.wired.Source.Describe(ctx)
	if err != nil {
		return from, nil //nolint:nilerr // the source's own check says it
	}
	return from, unlike(&d.Doc, source, o.Document, o.address)
}

// unlike says that a poller cannot go on at a document: it was written for another source than this one, or an earlier
// tick found a gap. It lies at key; name is how commands name it.
func unlike(doc *state.Document, source checkpointed.Description, key, name string) error {
	again := source.StartOver(name)
	was, is := source.Retyped(doc)
	switch {
	case source.Fingerprint != doc.SourceFingerprint:
		return fmt.Errorf("the state document %s was written for another source definition: undo the change, or run "+
			"`rowrelay state accept-fingerprint %s`, or start over with `%s`", key, name, again)
	case !source.SameLate(doc):
		return fmt.Errorf("late_commits was %s when the state document %s was written, and is now %s: write "+
			"source__late_commits=%[1]s, or run `rowrelay state accept-fingerprint %[4]s`, or start over with `%[5]s`",
			doc.Late.Mode, key, source.Late, name, again)
	case was != "":
		return fmt.Errorf("the columns of the cursor or key had other types or collations when the state document %s was written (%s, now %s): "+
			"change them back, or run `rowrelay state accept-fingerprint %s`, or start over with `%s`",
			key, was, is, name, again)
	case doc.Checkpoint.Gap != "":
		return fmt.Errorf("an earlier tick found a gap in %s: run `rowrelay state accept-gap %s` to go on (it says first from where), or start "+
			"over with `%s`", doc.Checkpoint.Gap, name, again)
	}
	return nil
}
