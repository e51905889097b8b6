package mapping

import (
	"slices"

	"github.com/rowrelay/rowrelay/engine"
)

// Search names the columns that say that an event is to be published, and those of the order. order is nil where no
// index can serve the search: a flag that may be NULL is looked for in two places.
func (l *Layout) Search() (pending, order []string) {
	switch {
	case l.State != nil:
		pending = []string{l.State.Name}
	case l.Published != nil && l.Published.Nullable:
		return nil, nil
	case l.Published != nil:
		pending = []string{l.Published.Name}
	case l.PublishedAt != nil:
		pending = []string{l.PublishedAt.Name}
	}
	if l.Seq != nil {
		return pending, []string{l.Seq.Name}
	}
	return pending, []string{l.CreatedAt.Name, l.ID.Name}
}

// Serving names the indexes that hold what is to be published in its order. Of a partial one that is not certain: which
// rows it holds is not known here.
func (l *Layout) Serving(indexes []engine.Index) (names []string) {
	pending, order := l.Search()
	for i := range indexes {
		ix := &indexes[i]
		begins := append(slices.Clone(pending), order...)
		if ix.Partial {
			begins = order
		}
		if order != nil && len(ix.Columns) >= len(begins) && slices.Equal(ix.Columns[:len(begins)], begins) {
			names = append(names, ix.Name)
		}
	}
	return names
}
