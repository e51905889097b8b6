package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/deadletter"
)

// record is a dead letter as it is kept.
type record struct {
	id            string
	key, orderKey []byte
}

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
	var ids []string
	for _, r := range chosen {
		ids = append(ids, r.id)
	}
	o.command(fmt.Sprintf("replay %d dead letters", len(chosen)),
		func(ctx context.Context, p *process, d *admin.Document) error {
			letters, err := d.Choose(ctx, &admin.Choice{IDs: ids})
			if err != nil {
				return err
			}
			replay, err := letters.Replay(ctx)
			if err != nil {
				return err
			}
			return p.done(ctx, &replay.Plan, nil, func() { w.letters.back(replay.Rows) })
		})
}

// purge lets a parked event go: one that is blocked behind its dead letter, or one that waits for its next attempt,
// which is then skipped on purpose.
func (o *operator) purge() {
	w := o.w
	if len(w.parked) == 0 {
		return
	}
	chosen := w.parked[w.rng.IntN(len(w.parked))]
	c := &admin.Choice{IDs: []string{chosen.ID}, Parked: !chosen.Blocked}
	if chosen.ID == "" { // a row that was replayed, or has become the head
		c.IDs, c.Filter.Key = nil, string(chosen.Key)
	}
	o.command("purge "+string(chosen.OrderKey), func(ctx context.Context, p *process, d *admin.Document) error {
		letters, err := d.Choose(ctx, c)
		if err != nil {
			return err
		}
		plan, err := letters.Purge()
		return p.done(ctx, plan, err, func() {
			if string(chosen.OrderKey) == waitsInOrder {
				return // the position is before that one: it is sent again
			}
			for _, e := range letters.Entries {
				w.forget(e.Record.Key, e.Record.ID)
			}
		})
	})
}

// forget marks what an operator let go: the version of an event, or what the row is now where nobody has read it yet.
func (w *world) forget(key []byte, id string) {
	w.human.release(key)
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
func (w *world) drop(entries []parking.Entry) {
	for i := range entries {
		if string(entries[i].OrderKey) == waitsInOrder {
			continue // the position is before that one: it is sent again
		}
		w.forget(entries[i].Key, "")
		for _, key := range entries[i].Followers {
			w.forget(key, "")
		}
	}
}

// back takes records for rows that have to arrive, or to be given up, once more.
func (l *letters) back(records []deadletter.Entry) {
	for _, r := range records {
		delete(l.ids, r.Record.ID)
		l.since[r.Record.ID] = len(l.w.sink.history)
		l.replayed[r.Record.ID] = true
	}
}
