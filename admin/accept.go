package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// AcceptFingerprint goes on at the stored position although the source is defined in another way than when the document
// was written. parked says whether parked events are kept or dropped.
func (d *Document) AcceptFingerprint(ctx context.Context, parked string) (*Plan, error) {
	if err := d.loadFree(ctx); err != nil {
		return nil, err
	}
	source, err := d.Source.Describe(ctx)
	if err != nil {
		return nil, err
	}
	doc := &d.snap.Doc
	stored, was := doc.SourceFingerprint, doc.Late.Mode
	kinds, are := source.Retyped(doc)
	another, same := stored != source.Fingerprint, source.SameLate(doc)
	if !another && same && kinds == "" {
		return nil, nothing("The stored fingerprint is that of the settings: there is nothing to accept.")
	}
	p := d.plan("The poller will go on at the stored position with the source as it is defined now.")
	if another {
		p.What += fmt.Sprintf("\n  stored    %s\n  settings  %s\n"+
			"Rows that the new definition has at or below that position will not be delivered.", stored, source.Fingerprint)
	}
	if kinds != "" {
		p.What += fmt.Sprintf("\nThe columns of the cursor or key were %s, and are %s. "+
			"Rows that have another place in the new order are not looked for again.", kinds, are)
	}
	var ended *state.Backfill
	if another || kinds != "" {
		ended = doc.Backfill
		p.What += stopping(ended) + d.unfit(ctx)
	}
	if !same {
		p.What += fmt.Sprintf("\nLate commits were handled by %s, and will be by %s. "+
			"The memory of delivered rows is forgotten: rows of the last window may come again.", was, source.Late)
	}
	drop, err := drops(parked, doc.Parked.Count)
	if err != nil {
		return &p, err
	}
	var dropped parkedEvents
	if drop {
		dropped = d.parked(ctx, &p)
		p.What += forgetting(dropped.rows) + notSkipped(dropped.waited)
	}
	p.apply = func(ctx context.Context, _ *Result) error {
		err := d.edit(ctx, func(doc *state.Document) {
			if drop {
				d.forget(doc, dropped.rows)
				doc.Parked = state.ObjectRef{}
			}
			doc.SourceFingerprint = source.Fingerprint
			doc.Checkpoint.Columns, doc.Checkpoint.Collations = source.Columns, source.Collations
			if another { // it may be another table of another database: the next commit says
				doc.Checkpoint.Table, doc.Checkpoint.Incarnation, doc.Checkpoint.Gap = "", "", ""
			}
			if ended != nil {
				doc.Backfill = nil
			}
			if !same {
				clock, at := doc.Late.Clock, doc.Late.ClockAt
				doc.Late = state.Late{}
				// The position stays, and what the database's clock was with it. In the other modes the position moves on
				// without the reading: beside it, an older one would look like a clock that was set back.
				if !another && (was == string(late.Overlap) || was == string(late.Settle)) {
					doc.Late.Clock, doc.Late.ClockAt = clock, at
				}
			}
		})
		if err != nil {
			return err
		}
		d.auditDropped(dropped.entries)
		d.auditStopped(ended)
		d.audit("fingerprint_accepted", "from", stored, "to", source.Fingerprint, "late_from", was, "late_to",
			string(source.Late))
		return nil
	}
	return &p, nil
}

// unfit says that the stored position cannot be read in the source as it is now, which another cursor or key may cause:
// the next tick would say so. Else it is "".
func (d *Document) unfit(ctx context.Context) string {
	_, err := d.Source.Fetch(ctx, change.Range{After: d.reached()}, poller.Limit{Rows: 1, Bytes: 1})
	if !errors.Is(err, poller.ErrConfig) {
		return ""
	}
	return fmt.Sprintf("\nThe stored position does not fit the settings (%v). Move it afterwards: rowrelay state reset.",
		poller.NameDocument(err, d.address()))
}

// AcceptGap goes on although the database was restored, failed over or replaced: at the stored position, or at the last
// row that there is now where the position is ahead of the source.
func (d *Document) AcceptGap(ctx context.Context) (*Plan, error) {
	if err := d.loadFree(ctx); err != nil {
		return nil, err
	}
	from := d.reached() // where the next live rows are looked for: with overlap the position itself lies before it
	ahead := d.Positions.Gap(ctx, from)
	if ahead != nil && !errors.Is(ahead, poller.ErrGap) {
		return nil, ahead
	}
	incarnation := d.snap.Doc.Checkpoint.Incarnation
	if ahead == nil && incarnation == "" && d.snap.Doc.Checkpoint.Gap == "" {
		remade, err := d.remade(ctx, from)
		if err != nil {
			return nil, err
		}
		if !remade {
			return nil, nothing("The document names no incarnation, and the position is not ahead of the source: " +
				"there is no gap to accept.")
		}
	}
	p := d.plan("The poller will go on in the database, and the table, as they are now. It does not notice which rows " +
		"the restore or failover lost. It does not deliver rows that are written again at or below the position.")
	to, skipped := from, int64(0)
	var parked parkedEvents
	if ahead != nil {
		var err error
		if to, err = d.Positions.Latest(ctx); err != nil {
			return nil, err
		}
		// Which of the rows up to there were delivered before the counter went back, nobody knows.
		skipped = d.before(ctx, to, &p)
		rows := "rows up to it are SKIPPED"
		if skipped >= 0 {
			rows = fmt.Sprintf("at most %d row(s) up to it are SKIPPED", skipped)
		}
		p.What = fmt.Sprintf("The poller cannot go on at its position (%v).\nIt will go on at %s, the last row that "+
			"there is now. Rows after it are delivered; %s: they are never delivered, which is data loss where they were not "+
			"before.",
			poller.NameDocument(ahead, d.address()), to, rows)
		parked = d.parked(ctx, &p)
		p.What += parked.moved()
	}
	p.apply = func(ctx context.Context, _ *Result) error {
		if err := d.endWait(ctx, &parked); err != nil {
			return err
		}
		err := d.edit(ctx, func(doc *state.Document) {
			doc.Checkpoint.Incarnation, doc.Checkpoint.Table = "", ""
			// The memory of delivered rows is the old database's: a cursor that is drawn again would be taken for a row
			// that came.
			if move(doc, doc.Checkpoint.Cursor); ahead != nil {
				move(doc, to)
			}
			if skipped != 0 {
				d.skip(doc, from, to, skipped)
			}
		})
		if err != nil {
			return err
		}
		d.audit("gap_accepted", "from", from.String(), "to", to.String(), "incarnation", incarnation)
		if skipped != 0 {
			d.audit("checkpoint_advanced_manually", "from", from.String(), "to", to.String(), "count", skipped)
		}
		return nil
	}
	return &p, nil
}

// remade reports whether the table is not the one that the position was read in, and holds rows that were never seen.
func (d *Document) remade(ctx context.Context, from change.Cursor) (bool, error) {
	was := d.snap.Doc.Checkpoint.Table
	if was == "" {
		return false, nil
	}
	page, err := d.Source.Fetch(ctx, change.Range{After: from}, poller.Limit{Rows: 1, Bytes: 1})
	if err != nil || page.Table == "" || page.Table == was {
		return false, err
	}
	_, err = d.Source.Replaced(ctx, from, was, page.Table)
	if errors.Is(err, poller.ErrGap) {
		return true, nil
	}
	return false, err
}
