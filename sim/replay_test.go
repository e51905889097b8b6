package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// What an operator does with dead letters and parked events, as `rowrelay deadletter` does it: the row of a record is parked, due
// at once, by one edit of the document, and then the record is deleted; what is purged is let go, with what waits behind it.

// record is a dead letter as it is kept.
type record struct {
	id            string
	key, orderKey []byte
}

var errRefused = errors.New("refused")

// replay parks the rows of dead letters again.
func (o *operator) replay() {
	w := o.w
	if len(w.letters.records) == 0 {
		return
	}
	var chosen []*record
	for range 1 + w.rng.IntN(3) {
		if r := w.letters.records[w.rng.IntN(len(w.letters.records))]; !slices.Contains(chosen, r) {
			chosen = append(chosen, r)
		}
	}
	ordering, most := w.set.ordering, w.set.policy.MaxParked
	o.command(fmt.Sprintf("replay %d dead letters", len(chosen)), func(ctx context.Context, p *process, k *state.Keeper) error {
		s, entries, err := o.open(ctx, k)
		if err != nil {
			return err
		}
		keys := make([][]byte, len(chosen))
		for i, r := range chosen {
			keys[i] = r.key
		}
		rows, err := sourceOf{p}.Reread(ctx, keys)
		if err != nil {
			return err
		}
		found := slices.DeleteFunc(slices.Clone(chosen), func(r *record) bool {
			return !slices.ContainsFunc(rows, func(e change.Event) bool { return bytes.Equal(e.Key, r.key) })
		})
		for _, r := range found {
			entries = park(entries, r, ordering)
		}
		if len(found) == 0 || rowsOf(entries) > most {
			return errRefused
		}
		if err := o.leased(ctx, p, k, s, entries, func() { o.out.letters.back(found) }); err != nil {
			return err
		}
		for _, r := range found {
			if err := o.out.letters.remove(ctx, p, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// park puts the row of a record among the parked events.
func park(entries []poller.ParkedEntry, r *record, ordering poller.Ordering) []poller.ParkedEntry {
	orderKey := r.orderKey
	if ordering == poller.OrderNone {
		orderKey = r.key
	}
	at := slices.IndexFunc(entries, func(e poller.ParkedEntry) bool { return bytes.Equal(e.OrderKey, orderKey) })
	switch {
	case at < 0:
		return append(entries, poller.ParkedEntry{OrderKey: orderKey, Key: r.key})
	case bytes.Equal(entries[at].Key, r.key):
		entries[at] = poller.ParkedEntry{OrderKey: orderKey, Key: r.key, Followers: entries[at].Followers}
	case !slices.ContainsFunc(entries[at].Followers, func(k json.RawMessage) bool { return bytes.Equal(k, r.key) }):
		entries[at].Followers = append(entries[at].Followers, r.key)
	}
	return entries
}

// purge lets a parked event go: one that is blocked behind its dead letter, or one that waits for its next attempt, which is
// then skipped on purpose.
func (o *operator) purge() {
	w := o.w
	if len(w.parked) == 0 {
		return
	}
	chosen := w.parked[w.rng.IntN(len(w.parked))]
	o.command("purge "+string(chosen.OrderKey), func(ctx context.Context, p *process, k *state.Keeper) error {
		s, entries, err := o.open(ctx, k)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(entries, func(e poller.ParkedEntry) bool {
			return bytes.Equal(e.OrderKey, chosen.OrderKey) && bytes.Equal(e.Key, chosen.Key) && e.ID == chosen.ID && e.Blocked == chosen.Blocked
		})
		if at < 0 {
			return errRefused
		}
		e := entries[at]
		next := poller.ParkedEntry{OrderKey: e.OrderKey, Key: e.Key}
		if len(e.Followers) > 0 {
			next.Key, next.Followers = e.Followers[0], e.Followers[1:]
		}
		newest, err := sourceOf{p}.Reread(ctx, [][]byte{next.Key})
		if err != nil {
			return err
		}
		if len(e.Followers) > 0 || len(newest) > 0 && e.ID != "" && newest[0].ID != e.ID {
			entries[at] = next
		} else {
			entries = slices.Delete(entries, at, at+1)
		}
		return o.leased(ctx, p, k, s, entries, func() { w.forget(e.Key, e.ID) })
	})
}

// forget marks what an operator let go: the version of an event, or what the row is now where nobody has read it yet.
func (w *world) forget(key []byte, id string) {
	if v := w.versions[id]; v != nil {
		w.skipped[v] = true
		return
	}
	for _, r := range w.table.rows {
		if r.cur != nil && bytes.Equal(r.cur.event.Key, key) && !w.arrived(r.cur) {
			w.skipped[r.cur] = true
		}
	}
}

// drop marks rows whose parked events an operator let go.
func (w *world) drop(entries []poller.ParkedEntry) {
	for i := range entries {
		w.forget(entries[i].Key, "")
		for _, key := range entries[i].Followers {
			w.forget(key, "")
		}
	}
}

// open reads what a command works on. It is refused while somebody holds the lease.
func (o *operator) open(ctx context.Context, k *state.Keeper) (*state.Snapshot, []poller.ParkedEntry, error) {
	s, err := k.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	if held := s.Held(); held != nil {
		return nil, nil, held
	}
	if s.Doc.Parked.Object == "" {
		return s, nil, nil
	}
	data, err := k.Object(ctx, s.Doc.Parked.Object)
	if err != nil {
		return nil, nil, err
	}
	entries, err := poller.DecodeParked(data)
	return s, entries, err
}

// leased names other parked events in the document, by a commit of the lease's holder; intent is done when it lands.
func (o *operator) leased(ctx context.Context, p *process, k *state.Keeper, s *state.Snapshot, entries []poller.ParkedEntry, intent func()) error {
	lease, err := k.Acquire(ctx, s)
	if err != nil {
		return err
	}
	ref := state.ObjectRef{Count: rowsOf(entries)}
	if len(entries) > 0 {
		var data []byte
		if data, err = poller.EncodeParked(entries); err == nil {
			ref.Object, err = lease.PutObject(ctx, "parked", data)
		}
	}
	if err == nil {
		at := lease.Known().Checkpoint.Cursor
		p.intent = intent
		if err = lease.Commit(ctx, state.Commit{From: at, To: at, Parked: &ref, Release: true}); err == nil {
			return nil
		}
	}
	return errors.Join(err, lease.Release(ctx))
}

// rowsOf counts parked rows, and those behind them.
func rowsOf(entries []poller.ParkedEntry) int {
	n := len(entries)
	for i := range entries {
		n += len(entries[i].Followers)
	}
	return n
}

// back takes records for rows that have to arrive, or to be given up, once more.
func (l *letters) back(records []*record) {
	for _, r := range records {
		delete(l.ids, r.id)
		l.since[r.id] = len(l.w.sink.history)
		l.replayed[r.id] = true
	}
}

// remove deletes a record.
func (l *letters) remove(ctx context.Context, p *process, r *record) (err error) {
	err = over
	gone := func() { l.records = slices.DeleteFunc(l.records, func(o *record) bool { return o == r }) }
	p.ask(ctx, &call{what: "delete the dead letter", arg: l.w.id(r.id), wire: gone, resolve: func(c *call) bool {
		if err = ctx.Err(); err == nil && (l.down || l.w.fate(l.w.pro.LetterFail)) {
			err = errLetter
		} else if err == nil {
			gone()
		}
		l.w.say(p.name, "delete the dead letter %s: %s", c.arg, verdict(err))
		return true
	}})
	return err
}
