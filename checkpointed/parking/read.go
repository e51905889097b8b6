package parking

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/state"
)

// Read reads the parked events of a document, for those who do not tick. It returns an empty list, and not nil, where
// there are none.
func Read(ctx context.Context, k *state.Keeper, doc *state.Document) ([]Entry, error) {
	if doc.Parked.Object == "" {
		return []Entry{}, nil
	}
	data, err := k.Object(ctx, doc.Parked.Object)
	if err != nil {
		return nil, fmt.Errorf("reading the parked events: %w", err)
	}
	return Decode(data)
}
