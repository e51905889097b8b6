package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// beginSnapshot finds where a read of the whole table begins. The position stays, so that deletes after it are told of,
// unless changes are missing there.
func (m *Move) beginSnapshot(ctx context.Context) error {
	source, ok := m.d.Source.(checkpointed.Snapshotter)
	if !ok {
		return errors.New("--to snapshot goes with source__mode=changetracking")
	}
	snapshot, err := source.Snapshot(ctx)
	if err != nil {
		return err
	}
	gap := m.d.Positions.Gap(ctx, m.From)
	if gap != nil && !errors.Is(gap, poller.ErrGap) && !m.foreign {
		return gap
	}
	relation, _ := m.d.Source.Compare(m.d.snap.Doc.Checkpoint.Incarnation, snapshot.Incarnation)
	m.snapshot, m.Skipped, m.window = &snapshot, 0, false
	m.backfill = m.d.snap.Doc.Backfill
	m.To = snapshot.After
	if m.keeps = gap == nil && !m.changed && !m.foreign && relation == checkpointed.SameDatabase; m.keeps {
		m.To = m.From
	}
	return nil
}

func (m *Move) snapshotText() string {
	text := fmt.Sprintf("Every row of the table (about %d) will be delivered as it is, beside the changes after %s.",
		m.snapshot.Count, m.To)
	if !m.keeps {
		text += "\nRows that were deleted since the old position, and are not told of yet, will NOT be told of."
	}
	return text
}

func (m *Move) writeSnapshot(doc *state.Document) {
	was := *doc
	m.snapshot.Begin(doc, m.d.By)
	if m.keeps {
		doc.Checkpoint.Cursor, doc.Late = was.Checkpoint.Cursor, was.Late
		doc.Checkpoint.Incarnation = was.Checkpoint.Incarnation
	}
}
