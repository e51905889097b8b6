package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// This file is what replay and purge do with the parked events of the document.

// blocked are stand-ins for the records of keys that wait for an operator (after_dead_letter=block), without a name and a
// row: the record itself may lie in a queue, or be gone, and the key must be let go all the same.
func (op *operation) blocked(parked []poller.ParkedEntry) []deadletter.Entry {
	var entries []deadletter.Entry
	for i := range parked {
		e := &parked[i]
		if !e.Blocked {
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

// park puts the rows of records among the parked events, due at once.
func (op *operation) park(ctx context.Context, letters []deadletter.Entry) error {
	entries, err := parkedOf(ctx, op.out, &op.snap.Doc)
	if err != nil {
		return err
	}
	for i := range letters {
		r := letters[i].Record
		orderKey := r.OrderKey
		if op.w.cfg.Ordering == string(poller.OrderNone) {
			orderKey = r.Key
		}
		at := slices.IndexFunc(entries, func(e poller.ParkedEntry) bool { return bytes.Equal(e.OrderKey, orderKey) })
		switch {
		case at < 0:
			entries = append(entries, poller.ParkedEntry{OrderKey: orderKey, Key: r.Key})
		case bytes.Equal(entries[at].Key, r.Key):
			// The same row, blocked or waiting: it starts anew.
			entries[at] = poller.ParkedEntry{OrderKey: orderKey, Key: r.Key, Followers: entries[at].Followers}
		case !slices.ContainsFunc(entries[at].Followers, func(k json.RawMessage) bool { return bytes.Equal(k, r.Key) }):
			entries[at].Followers = append(entries[at].Followers, r.Key)
		}
	}
	if n := rows(entries); n > op.w.cfg.MaxParked {
		return fmt.Errorf("these would be %d parked rows, and max_parked is %d: replay fewer at a time, or raise max_parked", n, op.w.cfg.MaxParked)
	}
	ref, err := op.putParked(ctx, entries)
	if err != nil {
		return err
	}
	_, err = op.out.keeper.Edit(ctx, op.snap, func(doc *state.Document) { doc.Parked = ref })
	return err
}

// putParked stores entries for a document to name.
func (op *operation) putParked(ctx context.Context, entries []poller.ParkedEntry) (state.ObjectRef, error) {
	if len(entries) == 0 {
		return state.ObjectRef{}, nil
	}
	data, err := poller.EncodeParked(entries)
	if err != nil {
		return state.ObjectRef{}, err
	}
	ref := state.ObjectRef{Count: rows(entries)}
	ref.Object, err = op.out.keeper.PutObject(ctx, "parked", data)
	return ref, err
}

// rows counts parked rows: entries, and what waits behind them.
func rows(entries []poller.ParkedEntry) int {
	n := len(entries)
	for i := range entries {
		n += len(entries[i].Followers)
	}
	return n
}

// unblock lets what waits behind purged events go on.
func (op *operation) unblock(ctx context.Context, purge []deadletter.Entry) error {
	ref, err := op.let(ctx, purge)
	if err != nil || ref == nil {
		return err
	}
	_, err = op.out.keeper.Edit(ctx, op.snap, func(doc *state.Document) { doc.Parked = *ref })
	return err
}

// let writes the parked events without those that are blocked by the records, and returns nil where there are none. Where
// rows wait behind one, the first of them becomes the head. Where the row itself was changed since it was given up, its
// newest state goes on: events of a parked key settle without being sent, so that nobody else would deliver it. A change
// that is fetched after this look makes the caller's compare-and-swap fail.
func (op *operation) let(ctx context.Context, records []deadletter.Entry) (*state.ObjectRef, error) {
	entries, err := parkedOf(ctx, op.out, &op.snap.Doc)
	if err != nil {
		return nil, err
	}
	var left []poller.ParkedEntry
	changed := false
	for _, e := range entries {
		isRecord := func(r deadletter.Entry) bool { return bytes.Equal(r.Record.Key, e.Key) }
		switch {
		case !e.Blocked || !slices.ContainsFunc(records, isRecord):
			left = append(left, e)
			continue
		case len(e.Followers) > 0:
			left = append(left, poller.ParkedEntry{OrderKey: e.OrderKey, Key: e.Followers[0], Followers: e.Followers[1:]})
		default:
			newest, err := op.w.source.Reread(ctx, [][]byte{e.Key})
			if err != nil {
				return nil, fmt.Errorf("reading the row %s again: %w", e.Key, err)
			}
			if len(newest) > 0 && newest[0].ID != e.ID {
				left = append(left, poller.ParkedEntry{OrderKey: e.OrderKey, Key: e.Key})
			}
		}
		changed = true
	}
	if !changed {
		return nil, nil
	}
	ref, err := op.putParked(ctx, left)
	return &ref, err
}
