package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// leased does what changes the parked events while nobody else can: a tick would fetch and settle meanwhile, and only
// who holds the lease may store an object. change returns what the document is to name (nil: what it names now). The
// lease is given back with the write that does so, or without one where change fails. It is free for who asks while the
// document is as it was shown.
func (d *Document) leased(ctx context.Context, change func(*state.Lease) (*state.ObjectRef, error)) error {
	lease, err := d.Keeper.Acquire(ctx, d.snap)
	var moved *state.MovedError
	var held *state.HeldError
	switch {
	case errors.As(err, &moved) && strings.HasPrefix(d.Output, BackfillPrefix):
		return &Refusal{Err: fmt.Errorf("%w since it was shown", state.ErrConflict),
			Remedy: "run the command again when the process that sends this backfill has ended"}
	case errors.As(err, &moved):
		return d.conflict()
	case errors.As(err, &held):
		return d.busy(held)
	case err != nil:
		return err
	}
	kept := context.WithoutCancel(ctx) // bounded by the lease
	ref, err := change(lease)
	if err == nil && ref != nil {
		at := lease.Known().Checkpoint.Cursor
		if err = lease.Commit(kept, state.Commit{From: at, To: at, Parked: ref, Release: true}); err == nil {
			return nil
		}
	}
	return errors.Join(err, lease.Release(kept))
}

// conflict says that the document was changed since the plan was made.
func (d *Document) conflict() error {
	return &Refusal{Err: fmt.Errorf("%w since it was shown", state.ErrConflict),
		Remedy: fmt.Sprintf("run the command again; where the poller is too busy for that, pause it first "+
			"(`rowrelay state pause %s`)", d.address())}
}

// parkedEvents are the parked events of a document. The one that the poller waits at (ordering=source) stands apart: it
// belongs to the position, which is before it.
type parkedEvents struct {
	rows    int // those that wait behind others included
	entries []parking.Entry
	waited  *parking.Entry
}

// parked reads the parked events. Those that cannot be read, which the plan notes, may be dropped all the same: that is
// the way out then.
func (d *Document) parked(ctx context.Context, p *Plan) parkedEvents {
	entries, err := parking.Read(ctx, d.Keeper, &d.snap.Doc)
	if err != nil {
		p.note("which events are parked cannot be told: %v", err)
		return parkedEvents{rows: d.snap.Doc.Parked.Count}
	}
	var parked parkedEvents
	if i := slices.IndexFunc(entries, func(e parking.Entry) bool { return e.Waited() }); i >= 0 {
		waited := entries[i]
		parked.waited, entries = &waited, slices.Delete(entries, i, i+1)
	}
	parked.rows, parked.entries = parking.Rows(entries), entries
	return parked
}

// forgetting says that parked events are dropped while the position stays.
func forgetting(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n%d parked event(s) will be forgotten. Their rows come when they change, or with rowrelay "+
		"backfill.", n)
}

// moved says what a move of the position does to the event that the poller waits at.
func (p *parkedEvents) moved() string {
	if p.waited == nil {
		return ""
	}
	return fmt.Sprintf("\nThe event that the poller waits at (ordering=source, key %s) comes again from the new "+
		"position, if it is after it.", p.waited.Key)
}

// notSkipped says what becomes of the event that the poller waits at where its entry is dropped and the position stays.
func notSkipped(waited *parking.Entry) string {
	if waited == nil {
		return ""
	}
	return fmt.Sprintf("\nThe event that the poller waits at (ordering=source, key %s) is not skipped: the position is "+
		"before it. The next tick tries it again, with all its attempts. To pass over it: rowrelay state reset.",
		waited.Key)
}

// endWait drops the entry of the event that the poller waits at, before the position is moved: left there, the poller
// would wait at it wherever it is. A crash in between costs the event's count of attempts only.
func (d *Document) endWait(ctx context.Context, p *parkedEvents) error {
	if p.waited == nil {
		return nil
	}
	at, token := d.snap.Doc.Checkpoint.Cursor, uint64(0)
	err := d.leased(ctx, func(lease *state.Lease) (*state.ObjectRef, error) {
		token = lease.Token()
		return parking.Save(ctx, p.entries, lease.PutObject)
	})
	if err == nil {
		err = d.load(ctx)
	}
	if err == nil && (d.snap.Doc.Lease.FencingToken != token || !bytes.Equal(d.snap.Doc.Checkpoint.Cursor, at)) {
		err = d.conflict()
	}
	return err
}

// parkedRows are the parked events while the rows of dead letters are added to them.
type parkedRows struct {
	d       *Document
	entries []parking.Entry
	at      map[string]int // where the entry of an order key stands
	rows    int
}

// parking reads the parked events of the document as it was shown.
func (d *Document) parking(ctx context.Context) (*parkedRows, error) {
	entries, err := d.readParked(ctx)
	p := &parkedRows{d: d, entries: entries, at: map[string]int{}, rows: parking.Rows(entries)}
	for i := range entries {
		p.at[string(entries[i].OrderKey)] = i
	}
	return p, err
}

func (p *parkedRows) orderKey(r *deadletter.Record) json.RawMessage {
	if p.d.Ordering == poller.OrderNone {
		return r.Key
	}
	return r.OrderKey
}

// fits reports whether the row of a record has a place: one of its own, or that which it has already.
func (p *parkedRows) fits(r *deadletter.Record) bool {
	if p.rows < p.d.MaxParked {
		return true
	}
	at, there := p.at[string(p.orderKey(r))]
	return there && p.entries[at].Has(r.Key)
}

// add puts the row of a record among the parked events, due at once.
func (p *parkedRows) add(r *deadletter.Record) {
	orderKey := p.orderKey(r)
	at, there := p.at[string(orderKey)]
	switch {
	case !there:
		p.at[string(orderKey)] = len(p.entries)
		p.entries = append(p.entries, parking.Entry{OrderKey: orderKey, Key: r.Key})
	case bytes.Equal(p.entries[at].Key, r.Key):
		// The same row, blocked or waiting: it starts anew.
		p.entries[at] = parking.Entry{OrderKey: orderKey, Key: r.Key, Followers: p.entries[at].Followers}
		return
	case p.entries[at].Has(r.Key):
		return
	default:
		p.entries[at].Followers = append(p.entries[at].Followers, r.Key)
	}
	p.rows++
}

// unblock lets what waits behind purged events go on. Where the events have no record (parked), the document notes them
// as skipped: nothing else tells of them.
func (c *Chosen) unblock(ctx context.Context, r *Result) error {
	d := c.d
	if d.snap.Doc.Parked.Count == 0 {
		return nil // nothing waits: the lease, which a poller at work holds, is not needed
	}
	return d.leased(ctx, func(lease *state.Lease) (*state.ObjectRef, error) {
		ref, err := d.let(ctx, lease, c.Entries, r)
		if err != nil || ref == nil || !c.parked {
			return ref, err
		}
		// Before they are dropped: a note too many is better than rows that left without one.
		_, err = d.Keeper.Amend(ctx, func(doc *state.Document) error {
			d.forget(doc, c.forgotten(d.snap.Doc.Parked.Count-ref.Count))
			return nil
		})
		return ref, err
	})
}

// let stores the parked events without those that the records block, or are stand-ins for, and returns nil where there
// are none. Where rows wait behind one, the first of them becomes the head. Where the row itself was changed since, its
// newest state goes on: events of a parked key settle without being sent, so that nobody else would deliver it. A
// change that comes after this read is fetched after the lease was given back. Keys that do not fit the settings any
// more (another source__key) are taken out with all that waits behind them: they can never be read.
func (d *Document) let(
	ctx context.Context, lease *state.Lease, records []deadletter.Entry, r *Result,
) (*state.ObjectRef, error) {
	entries, err := parking.Read(ctx, d.Keeper, &d.snap.Doc)
	if err != nil {
		return nil, err
	}
	// By the event, and not by the row: an older dead letter of the row does not block the key any more.
	byID := make(map[string]*deadletter.Entry, len(records))
	for i := range records {
		byID[records[i].Record.ID] = &records[i]
	}
	var left []parking.Entry
	changed := false
	for i := range entries {
		e := &entries[i]
		if l := byID[e.ID]; l == nil || !bytes.Equal(l.Record.Key, e.Key) || !e.Blocked && l.Name != "" {
			left = append(left, *e)
			continue
		}
		changed = true
		if e.Waited() {
			continue // the position is before it: the next tick fetches it
		}
		next, err := d.successor(ctx, e, r)
		if err != nil {
			return nil, err
		}
		if next != nil {
			left = append(left, *next)
		}
	}
	if !changed {
		return nil, nil
	}
	return parking.Save(ctx, left, lease.PutObject)
}

// successor is what waits in the place of an entry that is let go; nil for nothing. A head that waited for its next
// attempt, and was changed since, keeps its place: its changes were taken for the newest state that the attempt would
// read. Those of a blocked head wait behind it.
func (d *Document) successor(ctx context.Context, e *parking.Entry, r *Result) (*parking.Entry,
	error) {
	newest, err := d.Source.Reread(ctx, [][]byte{e.Key})
	switch {
	case errors.Is(err, poller.ErrConfig):
		r.note("the key %s does not fit the settings any more: it is taken out, with %d row(s) behind it", e.Key,
			len(e.Followers))
		return nil, nil
	case errors.Is(err, poller.ErrNormalize): // what it has become is not known, and others wait behind it
		r.note("the row %s cannot be read as an event (%v): what it has become is taken out with it", e.Key, err)
	case err != nil:
		return nil, fmt.Errorf("reading the row %s again: %w", e.Key, err)
	}
	changed := len(newest) > 0 && e.ID != "" && newest[0].ID != e.ID
	switch {
	case changed && (!e.Blocked || len(e.Followers) == 0):
		return &parking.Entry{OrderKey: e.OrderKey, Key: e.Key, Followers: e.Followers}, nil
	case len(e.Followers) > 0:
		return &parking.Entry{OrderKey: e.OrderKey, Key: e.Followers[0], Followers: e.Followers[1:]}, nil
	}
	return nil, nil
}
