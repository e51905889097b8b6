package sim

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"
)

// errOver is what calls are answered once a run has ended, so that the goroutines of its instances end too.
var errOver = errors.New("the simulation is over")

// call is a call that left an instance and waits at the gate.
type call struct {
	p         *process
	what, arg string
	at        time.Time
	until     context.Context //nolint:containedctx // the caller's patience: a call keeps it while it waits
	// gaveUp: the caller's context ended while it waited; it is still held, so that the scheduler decides when it goes on.
	gaveUp    bool
	left      bool // the same, as the caller notes it; under w.mu
	notBefore time.Time
	// resolve carries out the call, by the scheduler's goroutine. It returns false to be asked again, after notBefore.
	resolve func(c *call) bool
	// wire is what the call does to the world if it takes effect without anybody hearing of it; nil for one that only
	// reads.
	wire func()
	// request is the delivery that the call is; nil for another.
	request *request
	// effected: what the call asks for was done, and only its answer is missing.
	effected bool
	done     chan struct{}
	// stack tells two calls apart that are alike: a process may read one document in two goroutines.
	stack [32]uintptr
	depth int
}

// ask waits at the gate until the scheduler has carried out a call.
func (p *process) ask(ctx context.Context, c *call) {
	w := p.w
	c.p, c.at, c.until, c.done = p, time.Now(), ctx, make(chan struct{})
	c.depth = runtime.Callers(2, c.stack[:])
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return
	}
	w.arrivals = append(w.arrivals, c)
	w.mu.Unlock()
	w.ring()
	select {
	case <-c.done:
		return
	case <-ctx.Done():
	}
	w.mu.Lock()
	c.left = true
	w.mu.Unlock()
	w.ring()
	<-c.done
}

// ring wakes the scheduler when it waits for time to pass.
func (w *world) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// admit takes in the calls that have come to the gate, in an order that does not depend on the runtime's, and checks
// what must hold at the moment at which a call begins.
func (w *world) admit() {
	w.mu.Lock()
	fresh := w.arrivals
	w.arrivals = nil
	for _, c := range w.waiting {
		c.gaveUp = c.left
	}
	for _, c := range fresh {
		c.gaveUp = c.left
	}
	w.mu.Unlock()
	slices.SortStableFunc(fresh, func(a, b *call) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.p.serial, b.p.serial), cmp.Compare(a.what, b.what),
			cmp.Compare(a.arg, b.arg),
			slices.Compare(a.stack[:a.depth], b.stack[:b.depth]))
	})
	for _, c := range fresh {
		w.about(c.p.out)
		w.begun(c)
		w.waiting = append(w.waiting, c)
	}
}

// eligible are the calls that may be carried out now.
func (w *world) eligible() []*call {
	now := time.Now()
	w.ready = w.ready[:0]
	for _, c := range w.waiting {
		if c.p.dead || now.Before(c.p.frozenUntil) {
			continue
		}
		if c.gaveUp || !now.Before(c.notBefore) {
			w.ready = append(w.ready, c)
		}
	}
	return w.ready
}

// release carries out a call, and lets its caller go on when that is the end of it.
func (w *world) release(c *call) {
	w.about(c.p.out)
	if !c.resolve(c) {
		return
	}
	if c.what != ending && time.Since(c.at) > time.Second {
		c.p.excused = true // what it asks for next may be too late
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(o *call) bool { return o == c })
	close(c.done)
}

// hold keeps a call waiting for a while.
func (c *call) hold(d time.Duration) bool {
	c.notBefore = time.Now().Add(d)
	return false
}
