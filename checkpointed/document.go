package checkpointed

import (
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/state"
)

// What a stored document says to those who read it and do not tick.

// Frontier is how far a document's rows were delivered: live rows are fetched after it. With overlap the checkpoint is
// the low edge of the window of late commits, below it.
func Frontier(doc *state.Document) change.Cursor {
	if doc.Late.Mode == string(late.Overlap) && !doc.Late.Frontier.IsStart() {
		return doc.Late.Frontier
	}
	return doc.Checkpoint.Cursor
}

// Retyped are the columns of the cursor or key as a document has them, and as they are, where their types, or what they
// are sorted by, have changed since it was written; "" where they have not.
func (d Description) Retyped(doc *state.Document) (was, is string) {
	at := &doc.Checkpoint
	for _, c := range [...][2]string{{at.Columns, d.Columns}, {at.Collations, d.Collations}} {
		if was, is = c[0], c[1]; was != "" && is != "" && was != is {
			return was, is
		}
	}
	return "", ""
}

// SameLate reports whether late commits are handled as when a document was written. A document before the first commit
// does not say how.
func (d Description) SameLate(doc *state.Document) bool {
	return doc.Late.Mode == "" || doc.Late.Mode == string(d.Late)
}
