package parking

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/state"
)

// Read reads the parked events of a document. It returns an empty list, and not nil, where there are none.
func Read(ctx context.Context, k *state.Keeper, doc *state.Document) ([]Entry, error) {
	if doc.Parked.Object == "" {
		return []Entry{}, nil
	}
	data, err := k.Object(ctx, doc.Parked.Object)
	if err != nil {
		return nil, fmt.Errorf("reading the parked events in %s: %w", doc.Parked.Object, err)
	}
	entries, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading the parked events in %s: %w", doc.Parked.Object, err)
	}
	return entries, nil
}
