package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Choice says which dead letters are meant: those with these ids, or all that the filter lets through.
type Choice struct {
	IDs []string
	// Filter restricts without ids. Its App, Poller and Output are those of the document.
	Filter deadletter.Filter
	// Rows says that the rows of records that the filter chooses are needed: they may be more than fits into memory.
	Rows bool
	// Parked chooses parked events that wait for their next attempt, which have no record.
	Parked bool
}

// Found are records. Unread says why others could not be read: these are passed over, unless an id chooses them. Then
// such a one stands among Entries, with its Err and an id alone, to be deleted.
type Found struct {
	Entries []deadletter.Entry
	Unread  []error
}

// Chosen are dead letters or parked events that something is to be done with: one at least.
type Chosen struct {
	Found
	d      *Document
	parked bool
	waited *parking.Entry // the event that the poller waits at (ordering=source), where it is chosen
}

// Find reads records, the oldest first. The state document is not needed.
func (d *Document) Find(ctx context.Context, c *Choice) (Found, error) {
	found, err := d.find(ctx, c, nil)
	return found, errors.Join(err, d.readable(found.Entries))
}

// readable refuses records that serve only to be deleted.
func (d *Document) readable(entries []deadletter.Entry) error {
	for i := range entries {
		if e := &entries[i]; e.Err != nil {
			return &Refusal{Err: e.Err, Remedy: fmt.Sprintf("rowrelay deadletter purge %s %s deletes it", d.address(),
				e.Record.ID)}
		}
	}
	return nil
}

// Choose reads the document, and what is chosen of its dead letters or parked events.
func (d *Document) Choose(ctx context.Context, c *Choice) (*Chosen, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	parked, err := d.readParked(ctx)
	if err != nil {
		return nil, err
	}
	chosen := &Chosen{d: d, parked: c.Parked}
	if c.Parked {
		chosen.Entries, err = d.waiting(c, d.standIns(parked, false))
		for i := range parked {
			if parked[i].Waited() && indexOf(chosen.Entries, parked[i].ID) >= 0 {
				chosen.waited = &parked[i]
			}
		}
	} else {
		chosen.Found, err = d.find(ctx, c, d.standIns(parked, true))
	}
	switch {
	case err != nil:
		return chosen, err
	case len(chosen.Entries) > 0:
		return chosen, nil
	case c.Parked:
		return chosen, nothing("there are no such parked events")
	}
	return chosen, nothing("there are no such dead letters%s", d.elsewhere())
}

// find reads the records that are chosen. blocked are those of keys that wait for a person: they count where the store
// has no record of theirs.
func (d *Document) find(ctx context.Context, c *Choice, blocked []deadletter.Entry) (found Found, err error) {
	if len(c.IDs) > 0 {
		found.Entries, err = d.byID(ctx, c.IDs, blocked)
		return found, err
	}
	f := d.filter(c)
	err = d.Letters.List(ctx, f, func(e deadletter.Entry) error {
		switch {
		case e.Err != nil:
			found.Unread = append(found.Unread, e.Err)
		case e.Record.Output == d.Output: // no output in the filter means all of them there
			if !c.Rows {
				e.Record.Row, e.Record.Before, e.Record.Shape = nil, nil, nil
			}
			found.Entries = append(found.Entries, e)
		}
		return nil
	}, func(done, total int) { d.progress(done, total, fmt.Sprintf("%d of %d dead letters read", done, total)) })
	read := make(map[string]bool, len(found.Entries))
	for i := range found.Entries {
		read[found.Entries[i].Record.ID] = true
	}
	for _, e := range blocked {
		if !read[e.Record.ID] && f.Fits(e.Record) {
			found.Entries = append(found.Entries, e)
		}
	}
	slices.SortStableFunc(found.Entries, func(x, y deadletter.Entry) int {
		return x.Record.WrittenAt.Compare(y.Record.WrittenAt)
	})
	return found, err
}

// byID reads the records with these ids, each once.
func (d *Document) byID(
	ctx context.Context, ids []string, blocked []deadletter.Entry,
) (entries []deadletter.Entry, err error) {
	for _, id := range ids {
		e, err := d.Letters.Get(ctx, deadletter.Name(d.App, d.Poller, d.Output, id))
		at := indexOf(blocked, id)
		switch {
		case errors.Is(err, state.ErrNotFound) && at >= 0:
			e, err = blocked[at], nil
		case errors.Is(err, deadletter.ErrRecord) && at >= 0: // the parked entry knows its row
			e.Record, e.Err, err = blocked[at].Record, nil, nil
		case errors.Is(err, deadletter.ErrRecord):
			e.Record, err = &deadletter.Record{ID: id}, nil
		}
		if errors.Is(err, state.ErrNotFound) {
			return nil, &Refusal{Missing: true,
				Err:    fmt.Errorf("poller %s has no dead letter %s%s", d.Poller, id, d.elsewhere()),
				Remedy: fmt.Sprintf("rowrelay deadletter list %s shows those that there are", d.Poller)}
		}
		if err != nil {
			return nil, err
		}
		if indexOf(entries, id) < 0 {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// waiting are the parked events that are chosen of those that wait for their next attempt.
func (d *Document) waiting(c *Choice, parked []deadletter.Entry) ([]deadletter.Entry, error) {
	f := d.filter(c)
	for _, id := range c.IDs {
		if indexOf(parked, id) < 0 {
			return nil, &Refusal{Missing: true,
				Err:    fmt.Errorf("poller %s has no parked event %s that waits for its next attempt", d.Poller, id),
				Remedy: fmt.Sprintf("rowrelay state show %s --json lists them", d.Poller)}
		}
	}
	return slices.DeleteFunc(parked, func(e deadletter.Entry) bool {
		return len(c.IDs) > 0 && !slices.Contains(c.IDs, e.Record.ID) || !f.Fits(e.Record)
	}), nil
}

func (d *Document) filter(c *Choice) deadletter.Filter {
	f := c.Filter
	f.App, f.Poller, f.Output = d.App, d.Poller, d.Output
	return f
}

// indexOf is where the record with this id stands; -1 for nowhere.
func indexOf(entries []deadletter.Entry, id string) int {
	return slices.IndexFunc(entries, func(e deadletter.Entry) bool { return e.Record.ID == id })
}

// elsewhere says where dead letters go that do not lie in the store; "" where all do.
func (d *Document) elsewhere() string {
	if d.Queue == "" {
		return ""
	}
	return fmt.Sprintf(" in the store (they go to the queue %s, dead_letter__kind=queue)", d.Queue)
}

// standIns are records of parked events, without a name and a row: with blocked of those that wait for a person
// (after_dead_letter=block), whose record may lie in a queue, or be gone, and which must be let go all the same; else
// of those that wait for their next attempt, which have no record.
func (d *Document) standIns(parked []parking.Entry, blocked bool) []deadletter.Entry {
	var entries []deadletter.Entry
	for i := range parked {
		e := &parked[i]
		if e.Blocked != blocked {
			continue
		}
		cause := poller.Refused
		for _, c := range []poller.Cause{poller.Unavailable, poller.Impossible} {
			if c.String() == e.Cause {
				cause = c
			}
		}
		entries = append(entries, deadletter.Entry{Record: &deadletter.Record{
			ID: e.ID, App: d.App, Poller: d.Poller, Output: d.Output, Key: e.Key, OrderKey: e.OrderKey, Cursor: e.Cursor,
			Cause: cause, Status: e.Status, Reason: e.Reason, Attempts: e.Attempts,
			FirstAttempt: e.First, LastAttempt: e.Last, WrittenAt: e.Last,
		}})
	}
	return entries
}

// namesOf are the ids of the first records, for an error.
func namesOf(entries []deadletter.Entry) string {
	const most = 5
	var ids []string
	for i := range entries[:min(len(entries), most)] {
		ids = append(ids, entries[i].Record.ID)
	}
	if len(entries) > most {
		ids = append(ids, "…")
	}
	return strings.Join(ids, ", ")
}

// remove deletes records whose rows are taken care of. One that was given up again since has a newer record, which
// stays.
func (d *Document) remove(ctx context.Context, entries []deadletter.Entry, event string, out *Result) error {
	done := len(entries)
	for i := range entries {
		r := entries[i].Record
		if entries[i].Name != "" { // the store has it
			err := d.Letters.Delete(ctx, entries[i])
			switch {
			case errors.Is(err, state.ErrConflict):
				out.note("%s was given up again meanwhile: its dead letter stays", r.ID)
				if event == purged { // that is about the record, and all else about the row
					done--
					continue
				}
			case err != nil && !errors.Is(err, state.ErrNotFound):
				return err
			}
		}
		d.audit(event, "id", r.ID, "key", string(r.Key), "cursor", string(r.Cursor))
		d.progress(i+1, len(entries), fmt.Sprintf("%d of %d", i+1, len(entries)))
	}
	out.counted(done)
	return nil
}
