package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/state"
)

// prepare opens what replay and purge work on, and shows which records it is about. No entries: nothing to do.
func (l *letters) prepare(ctx context.Context, name string, ids []string) (*operation, []deadletter.Entry, error) {
	op, err := l.begin(ctx, name)
	if err != nil {
		return op, nil, err
	}
	parked, err := parkedOf(ctx, op.out, &op.snap.Doc)
	if err != nil {
		return op, nil, err
	}
	entries, err := l.chosen(ctx, op.app, op.w, ids, op.blocked(parked))
	if err != nil {
		return op, nil, err
	}
	if len(entries) == 0 {
		return op, nil, op.say("there are no such dead letters%s", elsewhere(op.w))
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

// remove deletes records whose rows are taken care of.
func (op *operation) remove(ctx context.Context, letters []deadletter.Entry, event string) error {
	store := deadletter.NewStore(op.app.store)
	bar := newProgress(op.console)
	defer bar.end()
	for i := range letters {
		r := letters[i].Record
		if letters[i].Name != "" { // the store has it
			if err := store.Delete(ctx, letters[i]); err != nil && !errors.Is(err, state.ErrNotFound) {
				return err
			}
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
			return fmt.Errorf("the store has no recorded row of %s (it could not be written when it was given up, or lies in a queue): replay it without --as-recorded", letters[i].Record.ID)
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
	kept := context.WithoutCancel(ctx) // what was sent is sent
	let, letErr := op.let(kept, letters[:sent])
	if letErr == nil && let != nil {
		at := lease.Known().Checkpoint.Cursor
		letErr = lease.Commit(kept, state.Commit{From: at, To: at, Parked: let, Release: true})
	} else {
		letErr = errors.Join(letErr, lease.Release(kept))
	}
	if letErr != nil {
		// The records stay: purging them lets their keys go.
		return errors.Join(err, fmt.Errorf("%d recorded row(s) were sent; letting their keys go: %w", sent, letErr))
	}
	return errors.Join(op.remove(kept, letters[:sent], "deadletter_sent_as_recorded"), err)
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
