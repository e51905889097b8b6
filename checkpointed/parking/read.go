package parking

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/state"
)

// Objects reads side objects. *state.Keeper and state.Named implement it.
type Objects interface {
	Object(ctx context.Context, name string) ([]byte, error)
}

// Read reads the parked events of a document. It returns an empty list, and not nil, where there are none.
func Read(ctx context.Context, from Objects, doc *state.Document) ([]Entry, error) {
	if doc.Parked.Object == "" {
		return []Entry{}, nil
	}
	data, err := from.Object(ctx, doc.Parked.Object)
	if err != nil {
		return nil, fmt.Errorf("reading the parked events in %s: %w", doc.Parked.Object, err)
	}
	entries, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading the parked events in %s: %w", doc.Parked.Object, err)
	}
	return entries, nil
}

// Unread says of an error of Read what it means for the poller, and what to do; address is how commands name the
// document. It returns nil for nil.
func Unread(err error, address string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, state.ErrNotFound):
		return fmt.Errorf("%w; nothing is delivered, because rejected rows would be forgotten. Restore it, or run `rowrelay "+
			"state reset %s --to beginning --parked drop`, which delivers every row again", err, address)
	default:
		return fmt.Errorf("%w; nothing is delivered, because rejected rows would be forgotten. The next tick tries again", err)
	}
}

// ReadNewest reads the parked events of a document. Where it was written since it was read, so that what it named then
// is gone, they are those of its newest state, which is returned as well.
func ReadNewest(ctx context.Context, k *state.Keeper, s *state.Snapshot) ([]Entry, *state.Snapshot, error) {
	const most = 5
	for tries := 1; ; tries++ {
		entries, err := Read(ctx, k.Named(s), &s.Doc)
		var moved *state.MovedError
		if !errors.As(err, &moved) || tries == most {
			return entries, s, err
		}
		s = moved.Snapshot
	}
}
