package clock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// checkEvery is how often a Deadline reads the clocks. A timer that is set to the end would be late by all the time
// for which the machine was suspended. This one ends a request that is under way within a second of waking.
const checkEvery = time.Second

// Deadline is a right to act until a moment. It ends once, with a cause, and does not come back: what its holder was
// allowed to do, another may be doing by then. Its methods may be called by several goroutines.
type Deadline struct {
	ctx    context.Context //nolint:containedctx // the right is what is handed out
	stop   context.CancelCauseFunc
	passed error

	mu    sync.Mutex
	end   moment
	watch *time.Timer
}

// Margin is how long before its end the holder of something that lasts ttl stops using it: a request that is just being
// sent needs some time, and clocks differ in speed.
func Margin(ttl time.Duration) time.Duration {
	return max(min(ttl/10, 2*time.Second), 100*time.Millisecond)
}

// NewDeadline begins a right that lasts to end. passed is the cause of its end where nobody extends it. The right's
// context has the values of ctx, and does not end with it. Who is done with a Deadline calls End.
func NewDeadline(ctx context.Context, end time.Time, passed error) *Deadline {
	d := &Deadline{passed: passed, end: momentOf(end)}
	d.ctx, d.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watch = time.AfterFunc(d.nextCheck(), d.watchClocks)
	return d
}

// Context ends when the right does, with its cause. After a suspension beyond the end it ends within a second of
// waking.
func (d *Deadline) Context() context.Context { return d.ctx }

// Check returns nil while the right lasts by both clocks, and then the cause of its end. A process that was frozen
// comes back before its timers do: so it is asked before each request.
func (d *Deadline) Check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.check()
}

// Extend moves the end of a right that lasts. It does nothing to one that has ended.
func (d *Deadline) Extend(end time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.check() == nil {
		d.end = momentOf(end)
		d.watch.Reset(d.nextCheck())
	}
}

// End ends the right. The first cause stays.
func (d *Deadline) End(cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finish(cause)
}

// Keep extends a right that lasts ttl by calling renew every third of that, until it has ended or ctx does. renew
// returns from when the ttl counts. An error that wraps lost ends the right; after any other it is tried again soon.
func (d *Deadline) Keep(ctx context.Context, begun time.Time, ttl time.Duration, lost error,
	renew func(context.Context) (since time.Time, err error)) {
	again := begun.Add(ttl / 3)
	for Sleep(ctx, time.Until(again)) == nil && d.Check() == nil {
		again = time.Now().Add(ttl / 3)
		since, err := renew(ctx)
		switch {
		case err == nil:
			d.Extend(since.Add(ttl - Margin(ttl)))
		case errors.Is(err, lost):
			d.End(err)
			return
		default:
			again = time.Now().Add(max(ttl/30, 50*time.Millisecond))
		}
	}
}

// Left is the time to the end by the monotonic clock.
func (d *Deadline) Left() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.end.mono)
}

func (d *Deadline) check() error {
	if d.ctx.Err() == nil && d.end.reached(momentOf(time.Now())) {
		d.finish(d.passed)
	}
	return context.Cause(d.ctx)
}

func (d *Deadline) finish(cause error) {
	d.watch.Stop()
	d.stop(cause)
}

func (d *Deadline) nextCheck() time.Duration { return min(time.Until(d.end.mono), checkEvery) }

func (d *Deadline) watchClocks() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.check() == nil {
		d.watch.Reset(d.nextCheck())
	}
}

// Passed reports whether either clock has reached end, a time with a monotonic reading.
func Passed(end time.Time) bool { return momentOf(end).reached(momentOf(time.Now())) }

// moment is a time by both clocks.
type moment struct {
	mono time.Time // with the monotonic reading
	wall time.Time // without it
}

func momentOf(t time.Time) moment { return moment{mono: t, wall: t.Round(0)} }

func (m moment) reached(now moment) bool {
	return !now.mono.Before(m.mono) || !now.wall.Before(m.wall)
}
