package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// prepare opens what replay and purge work on, and shows which records it is about. No entries: nothing to do.
func (l *letters) prepare(ctx context.Context, name string, ids []string) (*operation, []deadletter.Entry, error) {
	op, err := l.begin(ctx, name)
	if err != nil {
		return op, nil, err
	}
	entries, err := l.chosen(ctx, op.app, op.w, ids)
	if err != nil {
		return op, nil, err
	}
	if len(entries) == 0 {
		return op, nil, op.say("there are no such dead letters")
	}
	for i := range entries {
		if err := op.say("  %s  %s", entries[i].Record.ID, entries[i].Record.Key); err != nil {
			return op, nil, err
		}
	}
	return op, entries, op.free()
}

func (l *letters) replay(ctx context.Context, name string, ids []string) error {
	op, entries, err := l.prepare(ctx, name, ids)
	defer op.end()
	if err != nil || len(entries) == 0 {
		return err
	}
	what := fmt.Sprintf("%d row(s) will be read again and delivered with the next tick.", len(entries))
	if l.asRecorded {
		what = fmt.Sprintf("%d recorded row(s) will be sent now, as they were. This BREAKS THE ORDER: newer states of them may have arrived already.", len(entries))
	}
	ok, err := op.agreed(what)
	if err != nil || !ok {
		return err
	}
	if l.asRecorded {
		return op.sendRecorded(ctx, entries)
	}
	if err := op.park(ctx, entries); err != nil {
		return err
	}
	// From here on the rows are the poller's again: a crash now leaves records behind whose rows are delivered.
	return op.remove(ctx, entries, "deadletter_replayed")
}

// park puts the rows of records among the parked events, due at once.
func (op *operation) park(ctx context.Context, letters []deadletter.Entry) error {
	entries, err := parkedOf(ctx, op.out, &op.snap.Doc)
	if err != nil {
		return err
	}
	count := 0
	for i := range entries {
		count += 1 + len(entries[i].Followers)
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
			entries, count = append(entries, poller.ParkedEntry{OrderKey: orderKey, Key: r.Key}), count+1
		case bytes.Equal(entries[at].Key, r.Key):
			// The same row, blocked or waiting: it starts anew.
			entries[at] = poller.ParkedEntry{OrderKey: orderKey, Key: r.Key, Followers: entries[at].Followers}
		case !slices.ContainsFunc(entries[at].Followers, func(k json.RawMessage) bool { return bytes.Equal(k, r.Key) }):
			entries[at].Followers, count = append(entries[at].Followers, r.Key), count+1
		}
	}
	if count > op.w.cfg.MaxParked {
		return fmt.Errorf("these would be %d parked rows, and max_parked is %d: replay fewer at a time, or raise max_parked", count, op.w.cfg.MaxParked)
	}
	return op.writeParked(ctx, entries, count)
}

// writeParked makes entries the document's parked events.
func (op *operation) writeParked(ctx context.Context, entries []poller.ParkedEntry, count int) error {
	ref := state.ObjectRef{Count: count}
	if len(entries) > 0 {
		data, err := poller.EncodeParked(entries)
		if err != nil {
			return err
		}
		if ref.Object, err = op.out.keeper.PutObject(ctx, "parked", data); err != nil {
			return err
		}
	}
	_, err := op.out.keeper.Edit(ctx, op.snap, func(doc *state.Document) { doc.Parked = ref })
	return err
}

// remove deletes records whose rows are taken care of.
func (op *operation) remove(ctx context.Context, letters []deadletter.Entry, event string) error {
	store := deadletter.NewStore(op.app.store)
	bar := newProgress(op.console)
	defer bar.end()
	for i := range letters {
		r := letters[i].Record
		if err := store.Delete(ctx, letters[i]); err != nil && !errors.Is(err, state.ErrNotFound) {
			return err
		}
		op.audit(event, "id", r.ID, "key", string(r.Key), "cursor", string(r.Cursor))
		bar.show(int64(i+1), int64(len(letters)), fmt.Sprintf("%d of %d", i+1, len(letters)))
	}
	return op.say("done: %d", len(letters))
}

// sendRecorded delivers recorded rows from here, one by one, under the lease.
func (op *operation) sendRecorded(ctx context.Context, letters []deadletter.Entry) error {
	for i := range letters {
		if letters[i].Record.Row == nil {
			return fmt.Errorf("the row of %s could not be written when it was given up, so that there is nothing recorded to send: replay it without --as-recorded", letters[i].Record.ID)
		}
	}
	to, _, err := op.app.openOutput(op.console, op.w.cfg, op.out.cfg)
	if err != nil {
		return err
	}
	source, err := op.w.source.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing the source: %w", err)
	}
	lease, err := op.out.keeper.Acquire(ctx, op.snap)
	if err != nil {
		return err
	}
	sent := 0
	for i := range letters {
		if err = lease.Check(); err != nil {
			break
		}
		r := letters[i].Record
		d := change.Delivery{
			App: r.App, Poller: r.Poller, Engine: r.Engine, Table: r.Table, Fingerprint: source.Fingerprint, BatchID: "deadletter_" + r.ID,
			Token: lease.Token(), Number: uint64(i + 1), Attempt: 1, Events: []change.Event{r.Event()},
		}
		bounded, cancel := context.WithTimeout(lease.Context(), op.out.cfg.Timeout)
		stop := context.AfterFunc(ctx, cancel) // Ctrl-C
		err = to.Deliver(bounded, d)
		stop()
		cancel()
		if err != nil {
			err = fmt.Errorf("sending %s: %w", letters[i].Record.ID, err)
			break
		}
		sent++
	}
	if releaseErr := lease.Release(context.WithoutCancel(ctx)); releaseErr != nil {
		err = errors.Join(err, releaseErr)
	}
	return errors.Join(op.remove(context.WithoutCancel(ctx), letters[:sent], "deadletter_sent_as_recorded"), err)
}

func (l *letters) purge(ctx context.Context, name string, ids []string) error {
	op, entries, err := l.prepare(ctx, name, ids)
	defer op.end()
	if err != nil || len(entries) == 0 {
		return err
	}
	ok, err := op.agreed(fmt.Sprintf("%d dead letter(s) will be deleted for good.", len(entries)))
	if err != nil || !ok {
		return err
	}
	if err := op.unblock(ctx, entries); err != nil {
		return err
	}
	return op.remove(ctx, entries, "deadletter_purged")
}

// unblock lets what waits behind purged events go on: a blocked entry ends, or its first follower becomes its head.
func (op *operation) unblock(ctx context.Context, purge []deadletter.Entry) error {
	entries, err := parkedOf(ctx, op.out, &op.snap.Doc)
	if err != nil {
		return err
	}
	changed, count := false, 0
	kept := entries[:0]
	for _, e := range entries {
		purged := e.Blocked && slices.ContainsFunc(purge, func(p deadletter.Entry) bool { return bytes.Equal(p.Record.Key, e.Key) })
		changed = changed || purged
		if purged && len(e.Followers) == 0 {
			continue
		}
		if purged {
			e = poller.ParkedEntry{OrderKey: e.OrderKey, Key: e.Followers[0], Followers: e.Followers[1:]}
		}
		kept, count = append(kept, e), count+1+len(e.Followers)
	}
	if !changed {
		return nil
	}
	return op.writeParked(ctx, kept, count)
}
