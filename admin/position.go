package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
)

// exportFormat tells an export from any other JSON.
const exportFormat = "rowrelay-position/1"

// Export is a position in a file: Reset goes there with "file=PATH".
type Export struct {
	Format      string        `json:"format"`
	Poller      string        `json:"poller"`
	Fingerprint string        `json:"source_fingerprint"`
	Position    change.Cursor `json:"position"`
	Incarnation string        `json:"incarnation"`
	BatchID     string        `json:"last_successful_batch_id"`
	UpdatedAt   time.Time     `json:"updated_at"`
	ExportedAt  time.Time     `json:"exported_at"`
	// ParkedUnknown are rows that are parked and may stand at or below Position: their places are not known.
	ParkedUnknown int `json:"parked_unknown,omitempty"`
	// Snapshot is the id of the snapshot of the whole table that was under way.
	Snapshot string `json:"snapshot,omitempty"`
	// Gap says why nobody can go on from Position: as the document's.
	Gap string `json:"gap,omitempty"`
}

// Missing says what whoever goes to the position may miss; "" for nothing.
func (x *Export) Missing() string {
	var missing []string
	if x.ParkedUnknown > 0 {
		missing = append(missing, fmt.Sprintf("%d row(s) were parked whose places are not known (they waited behind others, "+
			"were replayed, or came from a snapshot): from this position they may never be delivered, which is data loss. "+
			"Export again once nothing is parked, or send them by rowrelay backfill", x.ParkedUnknown))
	}
	if x.Snapshot != "" {
		missing = append(missing, fmt.Sprintf("a snapshot of the table was under way (%s): from this position the rows that "+
			"it had not sent come only when they change. Export again once it has ended, or begin another by rowrelay state "+
			"reset --to snapshot", x.Snapshot))
	}
	return strings.Join(missing, "; ")
}

// Export returns the position of the document. Where order keys are read apart, or rows are parked, it is the lowest of
// theirs: whoever goes there delivers again what others have delivered since, and misses nothing. Dead letters are not
// in it, those of blocked keys included.
func (d *Document) Export(ctx context.Context) (*Export, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	var wanted []change.Cursor
	unknown := 0
	entries, err := d.readParked(ctx)
	doc := &d.snap.Doc
	if err != nil && ctx.Err() == nil && doc.Parked.Object != "" { // a store in trouble is what an export is for
		unknown, err = doc.Parked.Count, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		unknown += len(e.Followers)
		switch {
		case e.Blocked || e.Waited(): // it has a dead letter, or the position is before it
		case e.Cursor.IsStart():
			unknown++
		default:
			before, known, err := d.Positions.Before(ctx, e.Cursor)
			switch {
			case err != nil:
				return nil, err
			case known:
				wanted = append(wanted, before)
			default:
				unknown++
			}
		}
	}
	for _, a := range doc.Apart {
		wanted = append(wanted, a.At)
	}
	at := doc.Checkpoint.Cursor
	for _, low := range wanted {
		between, err := d.upTo(ctx, low, at)
		if err != nil {
			return nil, err
		}
		if between > 0 {
			at = low
		}
	}
	snapshot := ""
	if b := doc.Backfill; b != nil && b.Whole {
		snapshot = b.ID
	}
	return &Export{
		Snapshot: snapshot, Format: exportFormat, Poller: doc.PollerName, Fingerprint: doc.SourceFingerprint, Position: at,
		Incarnation: doc.Checkpoint.Incarnation, BatchID: doc.Checkpoint.LastBatchID, UpdatedAt: doc.Checkpoint.UpdatedAt,
		ExportedAt: time.Now().UTC(), ParkedUnknown: unknown, Gap: doc.Checkpoint.Gap,
	}, nil
}

// position finds where a reset leads. missing says what a file that was exported knows of what is missed from there.
func (d *Document) position(ctx context.Context, r *Reset) (at change.Cursor, missing string, err error) {
	value, isCursor := strings.CutPrefix(r.To, "cursor=")
	switch {
	case r.To == "beginning", r.To == "snapshot":
		return nil, "", nil
	case r.To == "latest":
		at, err = d.Positions.Latest(ctx)
	case isCursor:
		at, err = d.Positions.Position(ctx, value, r.Key, r.Ties)
	default:
		var x *Export
		if x, err = d.exported(ctx, strings.TrimPrefix(r.To, "file=")); err == nil {
			at, missing = x.Position, x.Missing()
		}
	}
	return at, missing, err
}

// exported reads an Export, and refuses one of another source or database.
func (d *Document) exported(ctx context.Context, path string) (*Export, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--to file=: %w", err)
	}
	var x Export
	if err := json.Unmarshal(data, &x); err != nil || x.Format != exportFormat {
		return nil, fmt.Errorf("--to file=%s: this is not what `rowrelay state export` writes", path)
	}
	source, err := d.Source.Describe(ctx)
	if err != nil {
		return nil, err
	}
	if x.Fingerprint != source.Fingerprint {
		return nil, fmt.Errorf("--to file=%s: it was written for another source definition (its fingerprint is %s, the "+
			"settings' is %s)", path, x.Fingerprint, source.Fingerprint)
	}
	if gap := cmp.Or(x.Gap, d.snap.Doc.Checkpoint.Gap); gap != "" {
		return nil, fmt.Errorf("--to file=%s: a tick found a gap (%s): other rows than these were delivered up to that "+
			"position. Use --to beginning, or --to cursor=VALUE if you know which were; to go on at the stored position: rowrelay "+
			"state accept-gap %s", path, gap, d.address())
	}
	_, incarnation, err := d.Source.Start(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the database which one it is: %w", err)
	}
	if relation, _ := d.Source.Compare(x.Incarnation, incarnation); relation != checkpointed.SameDatabase {
		return nil, fmt.Errorf("--to file=%s: it was written in another database, or before this one was restored or "+
			"failed over (incarnation %s, now %s): other rows than these were delivered up to that position. Use --to "+
			"beginning, or --to cursor=VALUE if you know which were; to go on at the stored position: rowrelay state "+
			"accept-gap %s", path, x.Incarnation, incarnation, d.address())
	}
	return &x, nil
}

// distance counts the rows between two positions: those that are sent again when the second is the earlier one, and
// those that are skipped when it is the later one. -1: they could not be counted.
func (d *Document) distance(ctx context.Context, from, to change.Cursor) (again, skipped int64, err error) {
	if again, err = d.upTo(ctx, to, from); err != nil {
		if to.IsStart() {
			return -1, 0, err // nothing can be skipped by going there
		}
		return -1, -1, err
	}
	if skipped, err = d.upTo(ctx, from, to); err != nil {
		return -1, -1, err
	}
	return again, skipped, nil
}

// upTo counts the rows after one position and up to another.
func (d *Document) upTo(ctx context.Context, after, to change.Cursor) (int64, error) {
	if to.IsStart() {
		return 0, nil // nothing lies before the beginning
	}
	return d.Positions.Count(ctx, change.Range{After: after, UpTo: to})
}

// before counts the rows up to a position; -1 where they could not be counted, which the plan notes.
func (d *Document) before(ctx context.Context, to change.Cursor, p *Plan) int64 {
	n, err := d.upTo(ctx, nil, to)
	if err != nil {
		p.note("how many rows lie up to there could not be counted: %v", err)
		return -1
	}
	return n
}
