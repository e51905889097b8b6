package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// This file is what replay and purge do with the parked events of the document.

// standIns are records of parked events, without a name and a row: with blocked of those that wait for an operator
// (after_dead_letter=block), whose record may lie in a queue, or be gone, and which must be let go all the same; else of
// those that wait for their next attempt, which have no record.
func (op *operation) standIns(parked []checkpointed.ParkedEntry, blocked bool) []deadletter.Entry {
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
			ID: e.ID, App: op.app.cfg.State.AppName, Poller: op.w.cfg.Name, Output: op.output, Key: e.Key, OrderKey: e.OrderKey, Cursor: e.Cursor,
			Cause: cause, Status: e.Status, Reason: e.Reason, Attempts: e.Attempts, FirstAttempt: e.First, LastAttempt: e.Last, WrittenAt: e.Last,
		}})
	}
	return entries
}

// leased does what changes the parked events while nobody else can: a tick would fetch and settle meanwhile, and only
// who holds the lease may store an object. change returns what the document is to name (nil: what it names now). The
// lease is given back with the write that does so, or without one where change fails. It is free for who asks while
// the document is as it was shown.
func (op *operation) leased(ctx context.Context, change func(*state.Lease) (*state.ObjectRef, error)) error {
	lease, err := op.out.keeper.Acquire(ctx, op.snap)
	var moved *state.MovedError
	var held *state.HeldError
	switch {
	case errors.As(err, &moved) && strings.HasPrefix(op.output, backfillPrefix):
		return fmt.Errorf("%w since it was shown: run the command again when the process that sends this backfill has ended", state.ErrConflict)
	case errors.As(err, &moved):
		return fmt.Errorf("%w since it was shown: run the command again; where the poller is too busy for that, pause it first (`rowrelay state pause %s`)",
			state.ErrConflict, op.address())
	case errors.As(err, &held):
		return op.busy(held)
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

// park puts the rows of records among the parked events, due at once.
func (op *operation) park(ctx context.Context, letters []deadletter.Entry) error {
	return op.leased(ctx, func(lease *state.Lease) (*state.ObjectRef, error) { return op.parked(ctx, lease, letters) })
}

// parked stores the parked events with the rows of records among them.
func (op *operation) parked(
	ctx context.Context, lease *state.Lease, letters []deadletter.Entry,
) (*state.ObjectRef, error) {
	entries, err := parkedOf(ctx, op.out, &op.snap.Doc)
	if err != nil {
		return nil, err
	}
	for i := range letters {
		r := letters[i].Record
		orderKey := r.OrderKey
		if op.w.cfg.Ordering == string(poller.OrderNone) {
			orderKey = r.Key
		}
		at := slices.IndexFunc(entries, func(e checkpointed.ParkedEntry) bool { return bytes.Equal(e.OrderKey, orderKey) })
		switch {
		case at < 0:
			entries = append(entries, checkpointed.ParkedEntry{OrderKey: orderKey, Key: r.Key})
		case bytes.Equal(entries[at].Key, r.Key):
			// The same row, blocked or waiting: it starts anew.
			entries[at] = checkpointed.ParkedEntry{OrderKey: orderKey, Key: r.Key, Followers: entries[at].Followers}
		case !slices.ContainsFunc(entries[at].Followers, func(k json.RawMessage) bool { return bytes.Equal(k, r.Key) }):
			entries[at].Followers = append(entries[at].Followers, r.Key)
		}
	}
	if n := rows(entries); n > op.w.cfg.MaxParked {
		return nil, &status.Refusal{Err: fmt.Errorf("these would be %d parked rows, and max_parked is %d: "+
			"replay fewer at a time, or raise max_parked", n, op.w.cfg.MaxParked)}
	}
	return putParked(ctx, lease, entries)
}

// putParked stores entries for a document to name.
func putParked(ctx context.Context, lease *state.Lease, entries []checkpointed.ParkedEntry) (*state.ObjectRef, error) {
	if len(entries) == 0 {
		return &state.ObjectRef{}, nil
	}
	data, err := checkpointed.EncodeParked(entries)
	if err != nil {
		return nil, err
	}
	name, err := lease.PutObject(ctx, "parked", data)
	return &state.ObjectRef{Object: name, Count: rows(entries)}, err
}

// rows counts parked rows: entries, and what waits behind them.
func rows(entries []checkpointed.ParkedEntry) int {
	n := len(entries)
	for i := range entries {
		n += len(entries[i].Followers)
	}
	return n
}

// unblock lets what waits behind purged events go on. Where the events have no record (parked), the document notes them as
// skipped: nothing else tells of them.
func (op *operation) unblock(ctx context.Context, purge []deadletter.Entry, parked bool) error {
	if op.snap.Doc.Parked.Count == 0 {
		return nil // nothing waits: the lease, which a poller at work holds, is not needed
	}
	return op.leased(ctx, func(lease *state.Lease) (*state.ObjectRef, error) {
		ref, err := op.let(ctx, lease, purge)
		if err != nil || ref == nil || !parked || ref.Count >= op.snap.Doc.Parked.Count {
			return ref, err
		}
		// Before they are dropped: a note too many is better than rows that left without one.
		_, err = op.out.keeper.Amend(ctx, func(doc *state.Document) error {
			forget(doc, int64(op.snap.Doc.Parked.Count-ref.Count))
			return nil
		})
		return ref, err
	})
}

// toDrop are the parked events that an edit is about to drop, for the log. One that cannot be read may be dropped all the
// same: that is the way out then.
func (op *operation) toDrop(ctx context.Context) ([]checkpointed.ParkedEntry, error) {
	entries, err := parkedOf(ctx, op.out, &op.snap.Doc)
	if err != nil {
		return nil, op.say("which events these are cannot be told: %v", err)
	}
	return entries, nil
}

// auditDropped writes to the log which parked rows an operator dropped.
func (op *operation) auditDropped(entries []checkpointed.ParkedEntry) {
	for i := range entries {
		e := &entries[i]
		op.audit("parked_dropped_manually", "id", e.ID, "key", string(e.Key), "order_key", string(e.OrderKey), "cursor", string(e.Cursor), "followers", len(e.Followers))
	}
}

// let writes the parked events without those that the records block, or are stand-ins for, and returns nil where
// there are none. Where rows wait behind one, the first of them becomes the head. Where the row itself was changed
// since, its newest state goes on: events of a parked key settle without being sent, so that nobody else would
// deliver it. A change that comes after this look is fetched after the lease was given back. Keys that do not fit the
// settings any more (another source__key) are taken out with all that waits behind them: they can never be read.
func (op *operation) let(
	ctx context.Context, lease *state.Lease, records []deadletter.Entry,
) (*state.ObjectRef, error) {
	entries, err := parkedOf(ctx, op.out, &op.snap.Doc)
	if err != nil {
		return nil, err
	}
	var left []checkpointed.ParkedEntry
	changed := false
	for i := range entries {
		e := &entries[i]
		if !slices.ContainsFunc(records, func(r deadletter.Entry) bool {
			return bytes.Equal(r.Record.Key, e.Key) && (e.Blocked || r.Name == "" && r.Record.ID == e.ID)
		}) {
			left = append(left, *e)
			continue
		}
		changed = true
		next, err := op.successor(ctx, e)
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
	return putParked(ctx, lease, left)
}

// successor is what waits in the place of an entry that is let go; nil for nothing. A head that waited for its next
// attempt, and was changed since, keeps its place: its changes were taken for the newest state that the attempt would
// read. Those of a blocked head wait behind it.
func (op *operation) successor(ctx context.Context, e *checkpointed.ParkedEntry) (*checkpointed.ParkedEntry, error) {
	newest, err := op.w.source.Reread(ctx, [][]byte{e.Key})
	switch {
	case errors.Is(err, poller.ErrConfig):
		return nil, op.say("the key %s does not fit the settings any more: it is taken out, with %d row(s) behind it", e.Key, len(e.Followers))
	case err != nil:
		return nil, fmt.Errorf("reading the row %s again: %w", e.Key, err)
	}
	changed := len(newest) > 0 && e.ID != "" && newest[0].ID != e.ID
	switch {
	case changed && (!e.Blocked || len(e.Followers) == 0):
		return &checkpointed.ParkedEntry{OrderKey: e.OrderKey, Key: e.Key, Followers: e.Followers}, nil
	case len(e.Followers) > 0:
		return &checkpointed.ParkedEntry{OrderKey: e.OrderKey, Key: e.Followers[0], Followers: e.Followers[1:]}, nil
	}
	return nil, nil
}

// presentChunk is how many rows present reads at once: they are held in memory, content and all.
const presentChunk = 100

// present divides records into those whose rows the source shows, and those whose rows are gone, do not meet source__where
// any more, or have keys that do not fit the settings.
func (op *operation) present(ctx context.Context, letters []deadletter.Entry) (found, gone []deadletter.Entry, err error) {
	for chunk := range slices.Chunk(letters, presentChunk) {
		keys := make([][]byte, len(chunk))
		for i := range chunk {
			keys[i] = chunk[i].Record.Key
		}
		rows, err := op.w.source.Reread(ctx, keys)
		if err != nil && !errors.Is(err, poller.ErrConfig) { // else one key may be at fault: each is read alone
			return nil, nil, err
		}
		for i := range chunk {
			shown := slices.ContainsFunc(rows, func(e change.Event) bool { return bytes.Equal(e.Key, keys[i]) })
			if !shown {
				// A key that the database holds for equal comes back as the row spells it.
				alone, err := op.w.source.Reread(ctx, keys[i:i+1])
				if err != nil && !errors.Is(err, poller.ErrConfig) {
					return nil, nil, err
				}
				shown = len(alone) > 0
			}
			if shown {
				found = append(found, chunk[i])
			} else {
				gone = append(gone, chunk[i])
			}
		}
	}
	return found, gone, nil
}
