package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/state"
)

var backfillName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// part is a range of a source, as a source of its own. Its rows are history: what commits late is the live poller's.
type part struct {
	*source.Cursor
	from, to change.Cursor
}

// Describe says what the source is. A memory of late rows would be of no use in a range that is read once.
func (p part) Describe(ctx context.Context) (poller.Description, error) {
	d, err := p.Cursor.Describe(ctx)
	d.Late = poller.LateNone
	return d, err
}

// Start is where the range begins.
func (p part) Start(ctx context.Context) (change.Cursor, string, error) {
	_, incarnation, err := p.Cursor.Start(ctx)
	return p.from, incarnation, err
}

// Fetch ends at the range's end.
func (p part) Fetch(ctx context.Context, r poller.Range, limit poller.Limit) (poller.Page, error) {
	r.UpTo, r.Unsafe = p.to, true
	return p.Cursor.Fetch(ctx, r, limit)
}

// namedBackfill sends a range from this process, with a state document and a lease of its own: the seed's way (seeds/003, §11).
// Its requests carry its name, because its events are outside the order promise: the live poller may send a newer state of a
// row first. It goes on where it was when it is started again under its name.
func (op *operation) namedBackfill(ctx context.Context, b *backfill, from, to change.Cursor, total int64) error {
	if !backfillName.MatchString(b.name) {
		return fmt.Errorf("--name %q: write a lower-case name of letters, digits and _", b.name)
	}
	keeper, err := state.New(state.Config{
		Store: op.app.store, Key: state.Key(op.app.cfg.State.AppName, op.w.cfg.Name, "backfill-"+b.name), Poller: op.w.cfg.Name,
		Owner: op.app.cfg.State.AppName + "/" + instance(op.console), TTL: op.w.cfg.LeaseTTL,
	})
	if err != nil {
		return err
	}
	relay, err := op.namedRelay(b, keeper, part{op.w.source, from, to})
	if err != nil {
		return err
	}
	ok, err := op.agreed(fmt.Sprintf("%d row(s) after %s and up to %s will be sent from here, marked as backfill %s, OUTSIDE the order promise.", total, from, to, b.name))
	if err != nil || !ok {
		return err
	}
	op.audit("backfill_begun", "backfill", b.name, "from", from.String(), "to", to.String(), "count", total)
	bar := newProgress(op.console)
	defer bar.end()
	begun, done := time.Now(), int64(0)
	for ctx.Err() == nil {
		r := relay.Tick(ctx)
		done += int64(r.Rows)
		view := backfillView{ID: b.name, Done: done, Total: total, StartedAt: begun, By: operator()}
		bar.show(done, total, view.String())
		switch {
		case r.Failed() && ctx.Err() == nil:
			return fmt.Errorf("%s: %w: start it again under the same name to go on", r.Event, r.Err)
		case r.Event == poller.FetchEmpty && r.Parked <= 0 && ctx.Err() == nil:
			return op.say("done: %d row(s); its position is kept in %s", done, state.Key(op.app.cfg.State.AppName, op.w.cfg.Name, "backfill-"+b.name))
		case r.Event == poller.FetchEmpty: // parked events are due later
			sleepUntil(ctx, time.Now().Add(time.Second))
		case b.rate > 0:
			sleepUntil(ctx, time.Now().Add(time.Duration(r.Rows)*time.Second/time.Duration(b.rate)))
		}
	}
	return op.say("stopped after %d row(s); start it again under the same name to go on", done)
}

func (op *operation) namedRelay(b *backfill, keeper *state.Keeper, src part) (*poller.Relay, error) {
	p, out := op.w.cfg, op.out.cfg
	to, size, err := op.app.openOutput(op.console, p, out)
	if err != nil {
		return nil, err
	}
	feed, err := poller.NewCheckpointed(poller.CheckpointedConfig{
		App: op.app.cfg.State.AppName, Poller: p.Name, Output: "backfill-" + b.name, Source: src, Keeper: keeper,
		Ordering: poller.Ordering(p.Ordering), Policy: policyOf(p), DeadLetters: deadletter.NewStore(op.app.store),
		LateWindow: p.Source.LateWindow, LateLimit: p.Source.LateLimit, LateMemory: p.Source.LateMemory,
	})
	if err != nil {
		return nil, err
	}
	rows := p.BatchSize
	if b.rate > 0 {
		rows = min(rows, b.rate)
	}
	relay, err := poller.NewRelay(poller.Config{
		App: op.app.cfg.State.AppName, Poller: p.Name, Output: out.Name, Backfill: b.name, Feed: feed, To: to,
		Ordering: poller.Ordering(p.Ordering), Concurrency: p.Concurrency, Fetch: poller.Limit{Rows: rows, Bytes: p.BatchBytes},
		RequestEvents: out.Batch, RequestBytes: out.BatchBytes, Size: size, RejectStatus: out.RejectStatus, Retries: out.Retries,
		Timeout: out.Timeout, Budget: p.TickBudget, MaxBatches: 1,
	})
	if err != nil {
		return nil, errors.Join(err, op.app.Close())
	}
	return relay, nil
}
