package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Commit moves the checkpoint from the position that a batch was fetched from to the position after its last event that
// needs no further delivery. Where From is To it moves nothing, and stores what else it brings: the retry of a parked
// event, the memory of late commits.
type Commit struct {
	From, To change.Cursor
	// BatchID and Rows are recorded with the checkpoint; a commit without a batch leaves those of the last one.
	BatchID string
	Rows    int
	// Incarnation is the life of the database that the rows came from; "" leaves what is recorded. The caller has compared
	// it with that: another one is recorded where a failover may go on.
	Incarnation string
	// Table is the table that the rows came from, Columns the kinds of its columns, and Collations what they are sorted
	// by; "" leaves what is recorded.
	Table, Columns, Collations string
	// Late, Parked and Backfill replace those members of the document where they are not nil. A Backfill with an empty ID
	// ends the backfill. A backfill that an operator stopped or changed meanwhile (another ID) stays as the operator left
	// it.
	Late     *Late
	Parked   *ObjectRef
	Backfill *Backfill
	// Ends is the ID of the backfill that a Backfill with an empty ID ends; "" means the one that the lease knows of when
	// Commit is called.
	Ends string
	// Apart replaces the order keys that are read apart where it is not nil.
	Apart []Apart
	// Accepted is when the destination last accepted an event; zero, or earlier than what is recorded, leaves that.
	Accepted time.Time
	// Release gives the lease back in the same write: for the last commit of a tick.
	Release bool
}

// spell gives the cursors the form that the document will hold them in, so that spelling does not make two positions of
// one, and settles which backfill is meant. What the caller's pointers lead to stays as it is.
func (c *Commit) spell(known *Backfill) error {
	if c.To.IsStart() && !c.From.IsStart() {
		return fmt.Errorf("%w: nothing leads back to the beginning but a reset", change.ErrCursor)
	}
	if err := spell(&c.From, &c.To); err != nil {
		return err
	}
	if c.Late != nil {
		late := *c.Late
		if err := spell(&late.Frontier, &late.Next); err != nil {
			return fmt.Errorf("late: %w", err)
		}
		if year := late.Since.UTC().Year(); year < 1 || year > 9999 || !slices.Contains(lateModes, late.Mode) {
			return fmt.Errorf("late: no document can hold mode %q, since %s", late.Mode, late.Since)
		}
		late.Since = late.Since.Truncate(time.Microsecond)
		c.Late = &late
	}
	c.Apart = slices.Clone(c.Apart)
	for i := range c.Apart {
		if err := spell(&c.Apart[i].At); err != nil {
			return fmt.Errorf("apart: %w", err)
		}
	}
	if c.Backfill != nil {
		backfill := *c.Backfill
		if err := spell(&backfill.From, &backfill.To, &backfill.At); err != nil {
			return fmt.Errorf("backfill: %w", err)
		}
		backfill.StartedAt = backfill.StartedAt.Truncate(time.Microsecond)
		c.Backfill = &backfill
		if backfill.ID != "" {
			c.Ends = ""
		} else if c.Ends == "" && known != nil {
			c.Ends = known.ID
		}
	}
	return nil
}

// apply returns the document with the commit in it.
func (c *Commit) apply(doc Document, now time.Time) (Document, error) {
	if doc.Lease.OwnerID == "" {
		return doc, ErrReleased
	}
	if !c.From.Equal(doc.Checkpoint.Cursor) {
		return doc, fmt.Errorf("%w: fetched from %s, stored is %s", ErrNotFrom, c.From, doc.Checkpoint.Cursor)
	}
	doc.Checkpoint.Cursor, doc.Checkpoint.UpdatedAt = c.To, now
	if c.BatchID != "" {
		doc.Checkpoint.LastBatchID, doc.Checkpoint.RowCount = c.BatchID, c.Rows
	}
	if c.Incarnation != "" {
		doc.Checkpoint.Incarnation = c.Incarnation
	}
	if c.Table != "" {
		doc.Checkpoint.Table = c.Table
	}
	if c.Columns != "" {
		doc.Checkpoint.Columns = c.Columns
	}
	if c.Collations != "" {
		doc.Checkpoint.Collations = c.Collations
	}
	if c.Accepted.After(doc.Checkpoint.AcceptedAt) || doc.Checkpoint.AcceptedAt.After(now) && !c.Accepted.IsZero() {
		doc.Checkpoint.AcceptedAt = c.Accepted.Truncate(time.Microsecond)
	}
	// What others wrote into an object stays in it.
	if c.Late != nil {
		late := *c.Late
		late.rest, late.restMemory = doc.Late.rest, doc.Late.restMemory
		doc.Late = late
	}
	if c.Parked != nil {
		doc.Parked = *c.Parked
	}
	if c.Apart != nil {
		doc.Apart = c.Apart
	}
	if stored := doc.Backfill; c.Backfill != nil && stored != nil {
		switch stored.ID {
		case c.Ends:
			doc.Backfill = nil
		case c.Backfill.ID:
			backfill := *c.Backfill
			backfill.rest = stored.rest
			doc.Backfill = &backfill
		}
	}
	_, err := doc.Encode()
	return doc, err
}

// foundIn reports whether a document that another has taken over, which does not say what became of our last writes,
// proves by its content that the commit landed: it names an object that only this commit can have named, or else the
// batch and its end. A commit that neither moves nor names anything of its own cannot be proved.
func (c *Commit) foundIn(doc, base *Document) bool {
	if c.Parked != nil && c.Parked.Object != "" && c.Parked.Object != base.Parked.Object &&
		c.Parked.Object == doc.Parked.Object {
		return true
	}
	if c.Late != nil {
		memory, pages := c.Late.Memory.Object, c.Late.Journal.Pages
		if memory != "" && memory != base.Late.Memory.Object && memory == doc.Late.Memory.Object {
			return true
		}
		if n := len(pages); n > 0 && !slices.Contains(base.Late.Journal.Pages, pages[n-1]) &&
			slices.Contains(doc.Late.Journal.Pages, pages[n-1]) {
			return true
		}
	}
	at := &doc.Checkpoint
	return c.BatchID != "" && !c.From.Equal(c.To) && at.LastBatchID == c.BatchID && at.Cursor.Equal(c.To)
}
