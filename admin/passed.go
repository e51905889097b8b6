package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Needed are the positions that the document still needs changes from: its own, and those of its parked events, which
// are read again. There are none where there is no document yet. An event that waits for a parked one is known by its
// key only: then nothing can be said.
func (d *Document) Needed(ctx context.Context) (positions []change.Cursor, err error) {
	snapshot, err := d.Keeper.Load(ctx)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state document: %w", err)
	}
	entries, snapshot, err := parking.ReadNewest(ctx, d.Keeper, snapshot)
	if err != nil {
		return nil, err
	}
	positions = append(positions, snapshot.Doc.Checkpoint.Cursor)
	for i := range entries {
		if entries[i].Cursor.IsStart() || len(entries[i].Followers) > 0 {
			return nil, fmt.Errorf("%s: rows wait for the parked row %s, and how old their changes are is not known: "+
				"try again when they are delivered", poller.Address(d.Poller, d.Output), entries[i].Key)
		}
		positions = append(positions, entries[i].Cursor)
	}
	return positions, nil
}
