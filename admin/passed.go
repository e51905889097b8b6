package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/source/tracked"
	"github.com/rowrelay/rowrelay/state"
)

// Needed is what the document still needs changes for; nil where there is no document yet.
func (d *Document) Needed(ctx context.Context) (*tracked.Needs, error) {
	snapshot, err := d.Keeper.Load(ctx)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil //nolint:nilnil // nothing
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state document: %w", err)
	}
	entries, snapshot, err := parking.ReadNewest(ctx, d.Keeper, snapshot)
	if err != nil {
		return nil, err
	}
	needs := &tracked.Needs{At: snapshot.Doc.Checkpoint.Cursor}
	for i := range entries {
		needs.Waiting = append(needs.Waiting, entries[i].Followers...)
		if entries[i].Cursor.IsStart() {
			needs.Waiting = append(needs.Waiting, entries[i].Key)
		} else {
			needs.Parked = append(needs.Parked, entries[i].Cursor)
		}
	}
	return needs, nil
}
