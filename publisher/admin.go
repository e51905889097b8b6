package publisher

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// Operator is what commands and timers do with an outbox beside publishing. *Publisher implements it.
type Operator interface {
	// About describes the outbox, from a fresh look.
	About(ctx context.Context) (About, error)
	// Writable reports why claims and marks cannot be written now. It changes nothing.
	Writable(ctx context.Context) error
	// Count and List show events; List calls each in order of seq until it returns an error, which List returns.
	Count(ctx context.Context, f event.Filter) (int64, error)
	List(ctx context.Context, f event.Filter, each func(event.Entry) error) error
	// Requeue makes dead letters (and FAILED events) due at once with their attempts forgotten; their aggregates'
	// later events follow them in order. Discard gives dead letters, FAILED and WAITING events up for ever
	// (DISCARDED, with who and why in last_error) and lets what waits only for them go on. Both work in chunks,
	// call progress after each with the total so far, and return how many events changed.
	Requeue(ctx context.Context, f event.Filter, progress func(int64)) (int64, error)
	Discard(ctx context.Context, f event.Filter, by string, progress func(int64)) (int64, error)
	// Pause and Resume stop and start publishing on every instance, with their next fetch.
	Pause(ctx context.Context, by string) error
	Resume(ctx context.Context) error
	// Cleanup deletes published and discarded rows older than the retention, in chunks, until none is left or ctx
	// ends. Another instance's clean-up under way is not an error: nothing is done.
	Cleanup(ctx context.Context, progress func(int64)) (Cleaned, error)
	// CountCleanable counts what Cleanup would delete now.
	CountCleanable(ctx context.Context) (int64, error)
	// Work returns the partitions that have something to publish now, for fan-out, and the number of partitions in
	// force.
	Work(ctx context.Context) (partitions []int, of int, err error)
	// Stay is for a process that ticks again and again by itself: its claims outlive a tick.
	Stay()
}

// adminChunk is how many events an operator's command shows or changes in one statement or transaction.
const adminChunk = 1000

// Count returns how many events f chooses.
func (p *Publisher) Count(ctx context.Context, f event.Filter) (int64, error) {
	if err := f.Check(); err != nil {
		return 0, err
	}
	o, err := p.catalog.open(ctx)
	if err != nil {
		return 0, err
	}
	n, err := o.events.CountOf(ctx, &f)
	if f.Limit > 0 {
		n = min(n, int64(f.Limit))
	}
	return n, err
}

// List shows events page by page, so that its memory does not depend on how many there are. What changes meanwhile is
// shown before or after the change.
func (p *Publisher) List(ctx context.Context, f event.Filter, each func(event.Entry) error) error {
	_, err := p.pages(ctx, f, nil, func(_ *rows.Table, entries []event.Entry) (int64, error) {
		for i := range entries {
			if err := each(entries[i]); err != nil {
				return int64(i), err
			}
		}
		return int64(len(entries)), nil
	})
	return err
}

// pages gives the chosen events to work, a page at a time, and adds up what it returns: progress, if it is not nil, is
// told the sum after each page.
func (p *Publisher) pages(ctx context.Context, f event.Filter, progress func(int64),
	work func(*rows.Table, []event.Entry) (int64, error)) (total int64, err error) {
	if err := f.Check(); err != nil {
		return 0, err
	}
	o, err := p.catalog.open(ctx)
	if err != nil {
		return 0, err
	}
	left := f.Limit
	for after := ""; ; {
		limit := adminChunk
		if f.Limit > 0 {
			limit = min(limit, left)
		}
		entries, last, err := o.events.Page(ctx, &f, after, limit)
		if err != nil {
			return total, err
		}
		if len(entries) > 0 {
			n, err := work(o.events, entries)
			if total += n; progress != nil {
				progress(total)
			}
			if err != nil {
				return total, err
			}
		}
		left -= len(entries)
		if last == "" || f.Limit > 0 && left <= 0 {
			return total, nil
		}
		after = last
	}
}

// Requeue makes dead letters and FAILED events due at once. They come out of the outbox as any failed event whose
// time has come: each before the later ones of its aggregate, which go on waiting until it is settled. Nothing that
// is being published is touched. A DELAYED one is read anew: where its available_at is still to come, it is DELAYED
// again.
func (p *Publisher) Requeue(ctx context.Context, f event.Filter, progress func(int64)) (int64, error) {
	if err := f.Narrow("requeue", []event.State{event.Delayed}, event.Dead, event.Failed); err != nil {
		return 0, err
	}
	return p.pages(ctx, f, progress, func(t *rows.Table, entries []event.Entry) (int64, error) {
		return t.RequeueThese(ctx, entries)
	})
}

// Discard gives events up for ever.
func (p *Publisher) Discard(ctx context.Context, f event.Filter, by string, progress func(int64)) (int64, error) {
	if err := f.Narrow("discard", []event.State{event.Delayed}, event.Dead, event.Failed, event.Waiting); err != nil {
		return 0, err
	}
	reason := plaintext.Start(plaintext.Storable(fmt.Sprintf("discarded by %s at %s", cmp.Or(by, "an operator"),
		time.Now().UTC().Format(time.RFC3339))), 1000)
	return p.pages(ctx, f, progress, func(t *rows.Table, entries []event.Entry) (int64, error) {
		return t.DiscardThese(ctx, entries, reason)
	})
}

// Pause stops publishing on every instance, with its next look.
func (p *Publisher) Pause(ctx context.Context, by string) error {
	o, err := p.catalog.open(ctx)
	if err != nil {
		return err
	}
	return o.events.Claims.Pause(ctx, fmt.Sprintf("%s at %s", cmp.Or(by, "an operator"),
		time.Now().UTC().Format(time.RFC3339)))
}

// Resume ends a pause; without one it does nothing.
func (p *Publisher) Resume(ctx context.Context) error {
	o, err := p.catalog.open(ctx)
	if err != nil {
		return err
	}
	return o.events.Claims.Resume(ctx)
}

// Work returns the partitions with something to publish.
func (p *Publisher) Work(ctx context.Context) (partitions []int, of int, err error) {
	o, err := p.catalog.open(ctx)
	if err != nil {
		return nil, 0, err
	}
	g, err := o.events.Look(ctx)
	if err != nil {
		return nil, 0, err
	}
	of = 1
	if p.catalog.cfg.StrategyFor(o.Own) == claims.Partitioned {
		of = cmp.Or(g.Partitions, p.catalog.cfg.Partitions)
	}
	switch {
	case g.Paused || !g.Work:
		return nil, of, nil
	case of == 1: // it has all the work
		return []int{0}, of, nil
	}
	partitions, err = o.events.Work(ctx, claims.All(of), of)
	return partitions, of, err
}
