package status

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// reading reads one thing, for however many ask at a time: once. A read that does not end keeps its goroutine, and no
// second one is begun beside it, but for one after forget; never a third. What cannot be read is not asked for again at
// once.
type reading[T any] struct {
	bound, every time.Duration
	turns        turns // nil: it waits for nobody
	read         func(context.Context) (T, error)

	mu     sync.Mutex
	flight *flight[T] // nil while none is under way
	last   *flight[T] // that has ended, well or not; nil after forget
	good   *flight[T] // that has ended well, however long ago
	flying int        // reads that have not ended, the forgotten ones among them
}

const (
	// mostFlights are the reads that may be under way at a time: the one that was forgotten, and the one after it.
	mostFlights = 2
	// failedEvery is how long a failure is shown before the next read, at least.
	failedEvery = 5 * time.Second
)

// flight is one read; its result may be looked at when done is closed.
type flight[T any] struct {
	begun chan struct{} // closed when it has its turn
	done  chan struct{}
	ended time.Time
	value T
	err   error
}

func newReading[T any](bound, every time.Duration, turns turns, read func(context.Context) (T, error)) *reading[T] {
	return &reading[T]{bound: bound, every: every, turns: turns, read: read}
}

// get returns what was read, now or by another who asks at the same time, or a short time ago. With an error comes what
// was last read well, and when; the zero time where nothing ever was.
func (r *reading[T]) get(ctx context.Context) (value T, at time.Time, err error) {
	f := r.begin()
	if err := r.wait(ctx, f); err != nil {
		return r.known(err)
	}
	if f.err != nil {
		return r.known(f.err)
	}
	return f.value, f.ended, nil
}

// wait waits for a read to end: as long as it may take, from its turn on.
func (r *reading[T]) wait(ctx context.Context, f *flight[T]) error {
	select {
	case <-f.done:
		return nil
	case <-f.begun:
	case <-ctx.Done():
		return ctx.Err()
	}
	timer := time.NewTimer(r.bound)
	defer timer.Stop()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return noAnswer(r.bound)
	}
}

// known is what is known beside an error.
func (r *reading[T]) known(err error) (value T, at time.Time, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.good == nil || isAbsent(err) {
		return value, at, err
	}
	return r.good.value, r.good.ended, err
}

func (r *reading[T]) begin() *flight[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && time.Since(r.last.ended) < r.rest() {
		return r.last
	}
	if r.flight != nil {
		return r.flight
	}
	f := &flight[T]{begun: make(chan struct{}), done: make(chan struct{})}
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

// rest is how long the last read may be shown again.
func (r *reading[T]) rest() time.Duration {
	if r.last.err != nil && !isAbsent(r.last.err) {
		return max(r.every, failedEvery)
	}
	return r.every
}

func (r *reading[T]) fly(f *flight[T]) {
	defer func() {
		if p := recover(); p != nil {
			f.err = fmt.Errorf("reading panicked: %v", p)
		}
		r.mu.Lock()
		f.ended = time.Now()
		r.flying--
		if r.flight == f { // else it was forgotten meanwhile
			r.flight, r.last = nil, f
			if f.err == nil {
				r.good = f
			}
		}
		r.mu.Unlock()
		close(f.done)
	}()
	if f.err = r.turns.take(r.bound); f.err != nil {
		return
	}
	close(f.begun)
	// Not the context of whoever asked first: others wait for this too.
	ctx, cancel := context.WithTimeoutCause(context.Background(), r.bound, noAnswer(r.bound))
	defer cancel()
	// At the end of the bound the turn is given back, also by a read that does not look at its context.
	context.AfterFunc(ctx, r.turns.giveBack)
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

func noAnswer(bound time.Duration) error { return fmt.Errorf("there was no answer within %s", bound) }

func isAbsent(err error) bool { return errors.Is(err, state.ErrNotFound) }

// turns bounds how many reads of one store are under way at a time: each beyond what its client keeps open is a
// connection more.
type turns chan struct{}

// mostReads are the reads of the state store that a board has under way at a time.
const mostReads = 32

// take waits for a turn. A store that answers slowly may need some rounds; in one that does not answer at all nobody
// waits for long.
func (t turns) take(bound time.Duration) error {
	if t == nil {
		return nil
	}
	timer := time.NewTimer(2 * bound)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return nil
	case <-timer.C:
		return fmt.Errorf("the reads before it have not ended within %s", 2*bound)
	}
}

func (t turns) giveBack() {
	if t != nil {
		<-t
	}
}
