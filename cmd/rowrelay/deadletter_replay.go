package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
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
	var entries []deadletter.Entry
	if l.parked {
		entries, err = l.waiting(op, ids, op.standIns(parked, false))
	} else {
		entries, err = l.chosen(ctx, op.app, op.w, ids, op.standIns(parked, true))
	}
	if err != nil {
		return op, nil, err
	}
	switch {
	case len(entries) == 0 && l.parked:
		return op, nil, op.idle("there are no such parked events")
	case len(entries) == 0:
		return op, nil, op.idle("there are no such dead letters%s", elsewhere(op.w))
	}
	for i := range entries {
		if err := op.say("  %s  %s", entries[i].Record.ID, entries[i].Record.Key); err != nil {
			return op, nil, err
		}
	}
	return op, entries, nil
}

// waiting are the parked events that ids or filters choose of those that wait for their next attempt.
func (l *letters) waiting(op *operation, ids []string, parked []deadletter.Entry) ([]deadletter.Entry, error) {
	if err := l.check(ids); err != nil {
		return nil, err
	}
	f, err := l.filter(op.w, op.app.cfg.State.AppName)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if indexID(parked, id) < 0 {
			return nil, fmt.Errorf("poller %s has no parked event %s that waits for its next attempt: rowrelay state show %[1]s --json lists them", op.w.cfg.Name, id)
		}
	}
	return slices.DeleteFunc(parked, func(e deadletter.Entry) bool {
		return len(ids) > 0 && !slices.Contains(ids, e.Record.ID) || !f.Fits(e.Record)
	}), nil
}

func (l *letters) replay(ctx context.Context, name string, ids []string) error {
	if strings.HasPrefix(l.output, backfillPrefix) && !l.asRecorded {
		return errors.New("no live poller delivers what a named backfill has given up: add --as-recorded, or send its rows again " +
			"by rowrelay backfill with --from and --to and another name")
	}
	op, entries, err := l.prepare(ctx, name, ids)
	defer op.end()
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := op.free(); err != nil {
		return err
	}
	if l.asRecorded {
		ok, err := op.agreed(fmt.Sprintf("%d recorded row(s) will be sent now, as they were. This BREAKS THE ORDER: newer states of them may have arrived already.", len(entries)))
		if err != nil || !ok {
			return err
		}
		return op.sendRecorded(ctx, entries)
	}
	// A parked event whose row does not come is given up for good: the record may be all that is left of it.
	found, gone, err := op.present(ctx, entries)
	if err != nil {
		return err
	}
	var kept error
	if len(gone) > 0 {
		kept = &status.Refusal{Err: fmt.Errorf("%d of %d dead letter(s) are kept: their rows are gone from the source, do not meet source__where any more, or have "+
			"keys that do not fit the settings (%s): send them with --as-recorded, or delete them with rowrelay deadletter purge", len(gone), len(entries), named(gone))}
	}
	if len(found) == 0 {
		return kept
	}
	ok, err := op.agreed(fmt.Sprintf("%d row(s) will be read again and delivered with the next tick.", len(found)))
	if err != nil || !ok {
		return errors.Join(err, kept)
	}
	if err := op.park(ctx, found); err != nil {
		return err
	}
	// From here on the rows are the poller's again: a crash now leaves records behind whose rows are delivered.
	return errors.Join(op.remove(ctx, found, "deadletter_replayed"), kept)
}

// named are the ids of the first records, for an error.
func named(letters []deadletter.Entry) string {
	const most = 5
	var ids []string
	for i := range letters[:min(len(letters), most)] {
		ids = append(ids, letters[i].Record.ID)
	}
	if len(letters) > most {
		ids = append(ids, "…")
	}
	return strings.Join(ids, ", ")
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
	return op.done("done: %d", len(letters))
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
	sent := 0
	var failed error
	kept := context.WithoutCancel(ctx) // what was sent is sent
	err = op.leased(ctx, func(lease *state.Lease) (*state.ObjectRef, error) {
		sent, failed = op.send(ctx, lease, to, source.Fingerprint, letters)
		return op.let(kept, lease, letters[:sent])
	})
	if err != nil && sent == 0 {
		return errors.Join(failed, err)
	}
	if err != nil {
		// The records stay: purging them lets their keys go.
		return errors.Join(failed, fmt.Errorf("%d recorded row(s) were sent; letting their keys go: %w", sent, err))
	}
	return errors.Join(op.remove(kept, letters[:sent], "deadletter_sent_as_recorded"), failed)
}

// send delivers recorded rows under the lease, and returns how many arrived.
func (op *operation) send(
	ctx context.Context, lease *state.Lease, to poller.Output, fingerprint string, letters []deadletter.Entry,
) (int, error) {
	for i := range letters {
		if err := lease.Check(); err != nil {
			return i, err
		}
		r := letters[i].Record
		d := change.Delivery{
			App: r.App, Poller: r.Poller, Engine: r.Engine, Table: r.Table, Fingerprint: fingerprint,
			BatchID: "deadletter_" + r.ID,
			Token:   lease.Token(), Number: uint64(i + 1), Attempt: 1, Events: []change.Event{r.Event()},
			Backfill: backfillNameOf(op.output),
		}
		bounded, cancel := context.WithTimeout(lease.Context(), op.out.cfg.Timeout)
		stop := context.AfterFunc(ctx, cancel) // Ctrl-C
		err := to.Deliver(bounded, d)
		stop()
		cancel()
		if err != nil {
			return i, fmt.Errorf("sending %s: %w", letters[i].Record.ID, err)
		}
	}
	return len(letters), nil
}

func (l *letters) purge(ctx context.Context, name string, ids []string) error {
	op, entries, err := l.prepare(ctx, name, ids)
	defer op.end()
	if err != nil || len(entries) == 0 {
		return err
	}
	if op.snap.Doc.Parked.Count > 0 {
		if err := op.free(); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%d dead letter(s) will be deleted for good.", len(entries))
	if l.parked {
		what = fmt.Sprintf("%d parked event(s) will be forgotten: their rows come when they are changed, or with rowrelay backfill.", len(entries))
	}
	ok, err := op.agreed(what)
	if err != nil || !ok {
		return err
	}
	if err := op.unblock(ctx, entries, l.parked); err != nil {
		return err
	}
	event := "deadletter_purged"
	if l.parked {
		event = "parked_purged"
	}
	return op.remove(ctx, entries, event)
}
