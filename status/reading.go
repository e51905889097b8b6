package status

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// reading reads one thing, for however many ask at a time: once. A read that does not end keeps its goroutine, and no second one
// is begun beside it, but for one after forget; never a third.
type reading[T any] struct {
	bound, every time.Duration
	read         func(context.Context) (T, error)

	mu     sync.Mutex
	flight *flight[T] // nil while none is under way
	last   *flight[T] // that has ended well; nil after forget
	flying int        // reads that have not ended, the forgotten ones among them
}

// mostFlights are the reads that may be under way at a time: the one that was forgotten, and the one after it.
const mostFlights = 2

// flight is one read; its result may be looked at when done is closed.
type flight[T any] struct {
	done  chan struct{}
	ended time.Time
	value T
	err   error
}

func newReading[T any](bound, every time.Duration, read func(context.Context) (T, error)) *reading[T] {
	return &reading[T]{bound: bound, every: every, read: read}
}

// get returns what was read, now or by another who asks at the same time, or a short time ago.
func (r *reading[T]) get(ctx context.Context) (T, error) {
	f := r.begin()
	timer := time.NewTimer(r.bound)
	defer timer.Stop()
	var none T
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-timer.C:
		return none, fmt.Errorf("there was no answer within %s", r.bound)
	}
}

func (r *reading[T]) begin() *flight[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && time.Since(r.last.ended) < r.every {
		return r.last
	}
	if r.flight != nil {
		return r.flight
	}
	f := &flight[T]{done: make(chan struct{})}
	if r.flying >= mostFlights {
		f.err = fmt.Errorf("%d earlier reads have not ended yet", r.flying)
		close(f.done)
		return f
	}
	r.flight = f
	r.flying++
	go r.fly(f)
	return f
}

func (r *reading[T]) fly(f *flight[T]) {
	// Not the context of whoever asked first: others wait for this too.
	ctx, cancel := context.WithTimeoutCause(context.Background(), r.bound, fmt.Errorf("there was no answer within %s", r.bound))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			f.err = fmt.Errorf("reading panicked: %v", p)
		}
		r.mu.Lock()
		f.ended = time.Now()
		r.flying--
		if r.flight == f { // else it was forgotten meanwhile
			r.flight = nil
			if f.err == nil {
				r.last = f
			}
		}
		r.mu.Unlock()
		close(f.done)
	}()
	f.value, f.err = r.read(ctx)
	if f.err != nil && ctx.Err() != nil {
		f.err = context.Cause(ctx) // whatever the driver calls that
	}
}

// forget makes the next get read anew, also where a read is under way: it began before something was done.
func (r *reading[T]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.flight = nil, nil
}

func isAbsent(err error) bool { return errors.Is(err, state.ErrNotFound) }
