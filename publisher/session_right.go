package publisher

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Why a right ended, beside errLost.
var (
	errExpired  = errors.New("the claims could not be renewed in time, so that they may have expired")
	errReleased = errors.New("the claims were released")
)

// marginOf is how long before its claims can expire a session stops using them: a request that is just being sent, and the
// difference between two clocks' speeds, need some time.
func marginOf(ttl time.Duration) time.Duration {
	return max(min(ttl/10, 2*time.Second), 100*time.Millisecond)
}

// lookAtClocks is how often a right looks at the clocks: timers stop with a machine that is suspended, so that one set to
// the end would be late by all that time.
const lookAtClocks = time.Second

// right is the right to deliver events of a session's claims. It ends once, with a cause, and does not come back: whatever
// was in flight then may be in flight elsewhere.
type right struct {
	ctx  context.Context //nolint:containedctx // the right is what is handed out
	stop context.CancelCauseFunc

	mu    sync.Mutex
	mono  time.Time // with the monotonic reading
	wall  time.Time // without it: a suspended machine stops the monotonic clock, and a wall clock may be set back
	ended error
	watch *time.Timer
}

func newRight(until time.Time) *right {
	r := &right{mono: until, wall: until.Round(0)}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = time.AfterFunc(r.nextLook(), r.look)
	return r
}

func (r *right) nextLook() time.Duration { return min(time.Until(r.mono), lookAtClocks) }

func (r *right) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checkLocked() == nil {
		r.watch.Reset(r.nextLook())
	}
}

// check reports whether the right holds at this moment, by both clocks: a process that was frozen comes back before its
// timers do.
func (r *right) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.checkLocked()
}

func (r *right) checkLocked() error {
	now := time.Now()
	if r.ended == nil && (!now.Before(r.mono) || !now.Round(0).Before(r.wall)) {
		r.endLocked(errExpired)
	}
	return r.ended
}

// extend moves the end of a right that has not ended.
func (r *right) extend(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checkLocked() == nil {
		r.mono, r.wall = until, until.Round(0)
		r.watch.Reset(r.nextLook())
	}
}

// left is how long the right lasts, as things are.
func (r *right) left() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Until(r.mono)
}

func (r *right) end(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLocked(cause)
}

func (r *right) endLocked(cause error) {
	if r.ended == nil {
		r.ended = cause
		r.watch.Stop()
		r.stop(cause)
	}
}
