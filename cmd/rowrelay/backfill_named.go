package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
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
	d.Late, d.Dates = poller.LateNone, nil
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
// row first. It goes on where it was when it is started again under its name; its range is fixed by its first start.
func (op *operation) namedBackfill(ctx context.Context, b *backfill) error {
	if !backfillName.MatchString(b.name) {
		return fmt.Errorf("--name %q: write a lower-case name of letters, digits and _", b.name)
	}
	r, err := op.app.loadRange(ctx, op.w, b.name)
	fresh := errors.Is(err, state.ErrNotFound)
	var total int64
	switch {
	case fresh:
		r = &namedRange{Version: namedRangeVersion, Output: op.output, FromText: b.from, ToText: b.to, StartedAt: time.Now().UTC(), By: operator()}
		if r.ToText == "" {
			r.ToText = "latest"
		}
		r.From, r.To, total, err = op.edges(ctx, b)
		if errors.Is(err, errNoRows) {
			return op.idle("%v", err)
		}
	case err == nil:
		err = op.resumes(ctx, b, r)
	}
	if err != nil {
		return err
	}
	out, err := op.app.namedOutput(op.w, op.out.cfg, b.name, instance(op.console))
	if err != nil {
		return err
	}
	at := r.From
	if !fresh {
		if at, total, err = op.left(ctx, out, r); err != nil {
			return err
		}
	}
	relay, err := op.namedRelay(b, out.keeper, part{op.w.source, r.From, r.To})
	if err != nil {
		return err
	}
	ok, err := op.agreed(fmt.Sprintf("%d row(s) after %s and up to %s will be sent from here, marked as backfill %s, OUTSIDE the order promise.", total, at, r.To, b.name))
	if err != nil || !ok {
		return err
	}
	if fresh {
		if err := op.app.storeRange(ctx, op.w, b.name, r); err != nil {
			return err
		}
	}
	op.audit("backfill_begun", "backfill", b.name, "from", at.String(), "to", r.To.String(), "count", total)
	return op.sendNamed(ctx, b, relay, out, total)
}

// left is where a backfill that was begun goes on, and how many rows there are from there on.
func (op *operation) left(ctx context.Context, out *wiredOutput, r *namedRange) (at change.Cursor, rows int64, err error) {
	at = r.From
	s, err := out.keeper.Load(ctx)
	switch {
	case err == nil:
		at = s.Doc.Checkpoint.Cursor
	case !errors.Is(err, state.ErrNotFound): // it ended before its first tick
		return nil, 0, err
	}
	rows, err = op.w.source.Count(ctx, poller.Range{After: at, UpTo: r.To})
	return at, rows, err
}

// sendNamed runs ticks until the range is sent, and what was parked of it is sent or given up.
func (op *operation) sendNamed(ctx context.Context, b *backfill, relay *poller.Relay, out *wiredOutput, total int64) error {
	bar := newProgress(op.console)
	defer bar.end()
	begun, done, givenUp := time.Now(), int64(0), 0
	for ctx.Err() == nil {
		r := relay.Tick(ctx)
		done = min(done+int64(r.Rows), max(total, 1)) // what was parked counts again
		givenUp += len(r.DeadLettered)
		view := backfillView{ID: b.name, Done: done, Total: total, StartedAt: begun, By: operator()}
		bar.show(done, total, view.String())
		// With ordering=source a tick fails while it waits for the next attempt of the row that was refused.
		waits := r.Parked > 0 && (!r.Failed() || op.w.cfg.Ordering == string(poller.OrderSource) &&
			r.Event == poller.HandlerFailed && r.Reason != poller.Unavailable.String())
		switch {
		case ctx.Err() != nil:
		case r.Event == poller.LeaseAcquireSkipped:
			return fmt.Errorf("%w: this backfill is sent by another process", r.Err)
		case r.Failed() && !waits:
			return fmt.Errorf("%s: %w: start it again under the same name to go on", r.Event, r.Err)
		case r.Event == poller.FetchEmpty && !waits:
			bar.end()
			return op.done("done: %d row(s)%s; its position is kept in %s", done, op.givenUp(b, givenUp), out.key)
		case r.Event == poller.FetchEmpty, r.Failed():
			_ = clock.Sleep(ctx, time.Second)
		case b.rate > 0:
			_ = clock.Sleep(ctx, time.Duration(r.Rows)*time.Second/time.Duration(b.rate))
		}
	}
	return op.done("stopped after %d row(s)%s; start it again under the same name to go on", done, op.givenUp(b, givenUp))
}

// givenUp says where the dead letters of a named backfill are; "" where there are none.
func (op *operation) givenUp(b *backfill, n int) string {
	if n == 0 {
		return ""
	}
	if elsewhere(op.w) != "" {
		return fmt.Sprintf(", of which %d were given up: their dead letters are in the queue %s (dead_letter__kind=queue)", n, op.w.cfg.DeadLetter.Queue)
	}
	return fmt.Sprintf(", of which %d were given up: rowrelay deadletter list %s --output %s%s shows them", n, op.name(), backfillPrefix, b.name)
}

func (op *operation) namedRelay(b *backfill, keeper *state.Keeper, src part) (*poller.Relay, error) {
	p, out := op.w.cfg, op.out.cfg
	to, size, err := op.app.openOutput(op.console, p, out)
	if err != nil {
		return nil, err
	}
	letters, err := op.app.openDeadLetters(op.w)
	if err != nil {
		return nil, err
	}
	policy := policyOf(p)
	policy.Block = false // a key that waits for an operator would keep it from ending; what comes after it is the live poller's
	feed, err := poller.NewCheckpointed(poller.CheckpointedConfig{
		App: op.app.cfg.State.AppName, Poller: p.Name, Output: backfillPrefix + b.name, Source: src, Keeper: keeper,
		Ordering: poller.Ordering(p.Ordering), Policy: policy, DeadLetters: letters,
		LateWindow: p.Source.LateWindow, LateLimit: p.Source.LateLimit, LateMemory: p.Source.LateMemory,
		MaxRowBytes: p.MaxRowBytes,
	})
	if err != nil {
		return nil, err
	}
	rows := p.BatchSize
	if b.rate > 0 {
		rows = min(rows, b.rate)
	}
	return poller.NewRelay(poller.Config{
		App: op.app.cfg.State.AppName, Poller: p.Name, Output: out.Name, Backfill: b.name, Feed: feed, To: to,
		Ordering: poller.Ordering(p.Ordering), Concurrency: p.Concurrency, Fetch: poller.Limit{Rows: rows, Bytes: p.BatchBytes},
		RequestEvents: out.Batch, RequestBytes: out.BatchBytes, Size: size, RejectStatus: out.RejectStatus, Retries: out.Retries,
		Timeout: out.Timeout, Budget: p.TickBudget, MaxBatches: 1,
	})
}
