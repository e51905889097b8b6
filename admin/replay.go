package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// CanReplay refuses a replay to an output where no poller would deliver the rows.
func CanReplay(output string) error {
	if strings.HasPrefix(output, BackfillPrefix) {
		return &Refusal{Err: errors.New("no live poller delivers what a named backfill has given up"),
			Remedy: "add --as-recorded, or send its rows again by rowrelay backfill with --from and --to and another name"}
	}
	return nil
}

// Replay is the plan of a replay.
type Replay struct {
	Plan
	// Rows are the records whose rows are read again.
	Rows []deadletter.Entry
	// Kept says which records are kept, because their rows do not come, or found no place among the parked events; nil
	// where all do. Apply returns it too.
	Kept error
}

// Replay hands rows back to the poller: its next tick reads each again by its key and delivers its newest state, in
// order with everything else of that key. A record is deleted when its row was handed over. One whose row is gone is
// kept: it is all that is left of it.
func (c *Chosen) Replay(ctx context.Context) (*Replay, error) {
	d := c.d
	if err := d.free(); err != nil {
		return nil, err
	}
	if err := d.readable(c.Entries); err != nil {
		return nil, err
	}
	parked, err := d.parking(ctx)
	if err != nil {
		return nil, err
	}
	found, gone, waiting, err := d.fit(ctx, parked, c.Entries)
	if err != nil {
		return nil, err
	}
	r := &Replay{Rows: found}
	if len(gone) > 0 {
		r.Kept = &Refusal{Err: fmt.Errorf("%d of %d dead letter(s) are kept: their rows are gone from the source, do not "+
			"meet source__where any more, cannot be read, or have keys that do not fit the settings (%s)", len(gone),
			len(c.Entries), namesOf(gone)),
			Remedy: "send them with --as-recorded, or delete them with rowrelay deadletter purge"}
	}
	if waiting > 0 {
		r.Kept = errors.Join(r.Kept, &Refusal{Err: fmt.Errorf("%d of %d dead letter(s) are kept for now: %d rows are parked "+
			"then, and max_parked is %d", waiting, len(c.Entries), parked.rows, d.MaxParked),
			Remedy: "run the command again when those are delivered, or raise max_parked"})
	}
	if len(found) == 0 {
		return nil, r.Kept
	}
	r.Plan = d.plan("%d row(s) will be read again and delivered with the next tick.", len(found))
	r.apply = func(ctx context.Context, out *Result) error {
		if err := d.leased(ctx, func(lease *state.Lease) (*state.ObjectRef, error) {
			return parking.Save(ctx, parked.entries, lease.PutObject)
		}); err != nil {
			return err
		}
		out.counted(len(found))
		// From here on the rows are the poller's again: a crash now leaves records behind whose rows are delivered.
		return errors.Join(d.remove(ctx, found, "deadletter_replayed", out), r.Kept)
	}
	return r, nil
}

// fit adds the rows of records to the parked events, as many as max_parked lets in. It returns the records of these
// rows, those whose rows do not come (see present), and how many found no place.
func (d *Document) fit(ctx context.Context, parked *parkedRows, letters []deadletter.Entry) (
	found, gone []deadletter.Entry, waiting int, err error,
) {
	for chunk := range slices.Chunk(letters, presentChunk) {
		var asked []deadletter.Entry
		for i := range chunk {
			if parked.fits(chunk[i].Record) {
				asked = append(asked, chunk[i])
			}
		}
		waiting += len(chunk) - len(asked)
		here, missing, err := d.present(ctx, asked)
		if err != nil {
			return nil, nil, 0, err
		}
		gone = append(gone, missing...)
		for i := range here {
			if !parked.fits(here[i].Record) {
				waiting++
				continue
			}
			parked.add(here[i].Record)
			found = append(found, here[i])
		}
	}
	return found, gone, waiting, nil
}

// presentChunk is how many records present is asked about at once: their rows are held in memory, content and all.
const presentChunk = 100

// present divides records into those whose rows the source shows, and those whose rows are gone, do not meet
// source__where any more, cannot be read as events, or have keys that do not fit the settings.
func (d *Document) present(ctx context.Context, letters []deadletter.Entry) (found, gone []deadletter.Entry,
	err error) {
	if len(letters) == 0 {
		return nil, nil, nil
	}
	keys := make([][]byte, len(letters))
	for i := range letters {
		keys[i] = letters[i].Record.Key
	}
	rows, err := d.Source.Reread(ctx, keys)
	if err != nil && !ofARow(err) { // else each is read alone
		return nil, nil, err
	}
	for i := range letters {
		shown := slices.ContainsFunc(rows, func(e change.Event) bool { return bytes.Equal(e.Key, keys[i]) })
		if !shown {
			// A key that the database holds for equal comes back as the row spells it.
			alone, err := d.Source.Reread(ctx, keys[i:i+1])
			if err != nil && !ofARow(err) {
				return nil, nil, err
			}
			shown = len(alone) > 0
		}
		if shown {
			found = append(found, letters[i])
		} else {
			gone = append(gone, letters[i])
		}
	}
	return found, gone, nil
}

// ofARow reports whether reading failed because of a single row or key.
func ofARow(err error) bool {
	return errors.Is(err, poller.ErrConfig) || errors.Is(err, poller.ErrNormalize)
}

// Resend sends recorded rows from here, one by one, under the lease: as they were, out of order. open makes the output;
// timeout bounds each request.
func (c *Chosen) Resend(open func() (poller.Output, error), timeout time.Duration) (*Plan, error) {
	d, letters := c.d, c.Entries
	if err := errors.Join(d.free(), d.readable(letters)); err != nil {
		return nil, err
	}
	p := d.plan("%d recorded row(s) will be sent now, as they were. This BREAKS THE ORDER: newer states of them may have "+
		"arrived already.", len(letters))
	p.apply = func(ctx context.Context, out *Result) error {
		for i := range letters {
			if letters[i].Record.Row == nil {
				return &Refusal{Err: fmt.Errorf("the store has no recorded row of %s (it could not be written when it was "+
					"given up, or lies in a queue)", letters[i].Record.ID), Remedy: "replay it without --as-recorded"}
			}
		}
		to, err := open()
		if err != nil {
			return err
		}
		source, err := d.Source.Describe(ctx)
		if err != nil {
			return err
		}
		sent := 0
		var failed error
		kept := context.WithoutCancel(ctx) // what was sent is sent
		err = d.leased(ctx, func(lease *state.Lease) (*state.ObjectRef, error) {
			sent, failed = d.sendRecorded(ctx, lease, to, timeout, &source, letters)
			return d.let(kept, lease, letters[:sent], out)
		})
		if err != nil && sent == 0 {
			return errors.Join(failed, err)
		}
		if err != nil {
			// The records stay: purging them lets their keys go.
			return errors.Join(failed, fmt.Errorf("%d recorded row(s) were sent; letting their keys go: %w", sent, err))
		}
		return errors.Join(d.remove(kept, letters[:sent], "deadletter_sent_as_recorded", out), failed)
	}
	return &p, nil
}

// sendRecorded delivers recorded rows under the lease, and returns how many arrived.
func (d *Document) sendRecorded(
	ctx context.Context, lease *state.Lease, to poller.Output, timeout time.Duration,
	source *checkpointed.Description, letters []deadletter.Entry,
) (int, error) {
	for i := range letters {
		if err := lease.Check(); err != nil {
			return i, err
		}
		r := letters[i].Record
		event, fingerprint := r.Event(), r.Fingerprint
		if fingerprint == "" { // an older version recorded neither this nor the shape
			event.Shape, fingerprint = source.Shape, source.Fingerprint
		}
		delivery := change.Delivery{
			App: r.App, Poller: r.Poller, Engine: r.Engine, Table: r.Table, Fingerprint: fingerprint,
			BatchID: "deadletter_" + r.ID,
			Token:   lease.Token(), Number: uint64(i + 1), Attempt: 1, Events: []change.Event{event},
			Backfill: d.backfill(),
		}
		bounded, cancel := context.WithTimeout(lease.Context(), timeout)
		stop := context.AfterFunc(ctx, cancel) // Ctrl-C
		err := to.Deliver(bounded, delivery)
		stop()
		cancel()
		if err != nil {
			return i, fmt.Errorf("sending %s: %w", r.ID, err)
		}
	}
	return len(letters), nil
}

// forgotten is how many of n parked rows that are taken out nobody sends any more.
func (c *Chosen) forgotten(n int) int {
	if c.waited != nil {
		n--
	}
	return n
}

// purged is the audit's word for a record that is deleted, with nothing done for its row.
const purged = "deadletter_purged"

// Purge deletes records for good, or takes out parked events. What waits behind them goes on.
func (c *Chosen) Purge() (*Plan, error) {
	d := c.d
	if d.snap.Doc.Parked.Count > 0 {
		if err := d.free(); err != nil {
			return nil, err
		}
	}
	p := d.plan("%d dead letter(s) will be deleted for good.", len(c.Entries))
	event := purged
	if c.parked {
		said := forgetting(c.forgotten(len(c.Entries))) + notSkipped(c.waited)
		p, event = d.plan("%s", strings.TrimSpace(said)), "parked_purged"
	}
	p.apply = func(ctx context.Context, r *Result) error {
		if err := c.unblock(ctx, r); err != nil {
			return err
		}
		return d.remove(ctx, c.Entries, event, r)
	}
	return &p, nil
}
