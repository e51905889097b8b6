package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/clock"
)

// Lease is the right to deliver and to commit. Its methods may be called by several goroutines.
type Lease struct {
	owner  *owner // only after done is closed
	keeper *Keeper
	id     string // lease_id
	token  uint64
	right  *clock.Deadline
	wake   chan struct{} // holds one signal: there is a request
	done   chan struct{} // closed when the owner's goroutine has ended

	mu    sync.Mutex
	known Document
	queue []*request

	late sync.Mutex // held during a release after the owner's end
}

// start begins the life of an acquired lease.
func (o *owner) start(ctx context.Context) *Lease {
	background := context.WithoutCancel(ctx)
	l := &Lease{owner: o, keeper: o.k, id: o.id, token: o.doc.Lease.FencingToken}
	l.wake, l.done = make(chan struct{}, 1), make(chan struct{})
	l.right, l.known = clock.NewDeadline(background, o.until, ErrExpired), o.doc
	o.lease = l
	go o.run(background)
	return l
}

// Context ends with the right to deliver; its cause is ErrLost, ErrExpired or ErrReleased. It ends within a second of
// waking when the machine was suspended beyond the right. It does not end with the context that the lease was acquired
// under.
func (l *Lease) Context() context.Context { return l.right.Context() }

// Known returns the document as this lease last knew it to be stored: after each write, and after each read-back that
// found the lease still in it. It costs no round trip, and goes on to answer when the lease has ended.
func (l *Lease) Known() Document {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// Token is the fencing token of this acquisition.
func (l *Lease) Token() uint64 { return l.token }

// Check reports, without a round trip, whether the right holds at this moment, by the monotonic and by the wall clock.
// It is asked before each delivery: a process that was frozen comes back before its timers do. Errors are those of
// Context.
func (l *Lease) Check() error { return l.right.Check() }

// Commit moves the checkpoint and returns once that is stored. It waits until ctx ends or the right does, whichever
// comes first; the write is not given up with ctx, because the batch is delivered and only its acknowledgment is
// missing. For the same reason callers pass a context without the invocation's cancellation, and with a deadline.
// Errors: ErrNotFrom (refused), ErrLost, ErrExpired and ErrReleased (no right any more), *UnknownError (ctx ended
// first), or the store's fault; after any but ErrNotFrom the commit may still land, so that the position is known again
// only after the next Load.
func (l *Lease) Commit(ctx context.Context, c Commit) error {
	err := c.spell(l.Known().Backfill)
	if err == nil {
		err = l.ask(ctx, &request{commit: &c, release: c.Release})
	}
	if err != nil {
		return fmt.Errorf("committing %s: %w", cmp.Or(c.BatchID, "the position"), err)
	}
	return nil
}

// Release gives the lease back: the next one may take it at once. The right to deliver ends with the call. It may be
// called again: after a release that failed, and after the right expired, it still frees a lease that nobody took. It
// goes on for a moment when ctx is cancelled: for a third of the ttl, 5 s at most, and never beyond ctx's deadline.
// Errors: ErrLost when another took it, or the store's fault: others then have to wait for its expiry.
func (l *Lease) Release(ctx context.Context) error {
	patience := l.owner.k.releasePatience()
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline))
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), patience, &SilentError{patience})
	defer cancel()
	err := l.ask(ctx, &request{release: true, giveUp: time.Now().Add(patience)})
	if errors.Is(err, ErrExpired) || errors.Is(err, ErrReleased) {
		err = l.releaseLate(ctx)
	}
	if err != nil {
		// Whether the release lands or not: nobody delivers under this lease, and no heartbeat keeps it from expiring.
		l.right.End(ErrReleased)
		return fmt.Errorf("releasing the lease: %w", err)
	}
	return nil
}

// releasePatience is how long a release that the store does not answer is tried: it only saves others a wait.
func (k *Keeper) releasePatience() time.Duration { return min(k.cfg.TTL/3, 5*time.Second) }

// releaseLate frees the lease in a document that still names it, after the owner's end, while ctx lasts.
func (l *Lease) releaseLate(ctx context.Context) error {
	select {
	case <-l.done:
	case <-ctx.Done(): // the owner still waits for the store's answer to a write
		return &UnknownError{context.Cause(ctx)}
	}
	l.late.Lock()
	defer l.late.Unlock()
	o := l.owner
	if o.freed || o.panicked != nil {
		return o.panicked
	}
	_, err := retry(ctx, o.k.patience(), func(ctx context.Context) (struct{}, error) { return struct{}{}, o.free(ctx) })
	o.freed = err == nil
	return err
}

// free reads the document and takes our name out of it if it is still there.
func (o *owner) free(ctx context.Context) error {
	s, err := o.k.load(ctx)
	if err != nil {
		return err
	}
	if s.Doc.Lease.LeaseID != o.id {
		return &PermanentError{Err: lostTo(s)}
	}
	o.adopt(s)
	if s.Doc.Lease.OwnerID == "" {
		return nil
	}
	doc := s.Doc
	doc.Lease.OwnerID = ""
	err = o.write(ctx, doc, time.Now().Add(o.k.patience())) // ctx ends before that
	if errors.Is(err, ErrConflict) {
		return errors.New("the document was changed meanwhile") // worth another look
	}
	return err
}

// ask puts a request before the owner and waits for the answer, or for the end of ctx: the owner then goes on with it.
func (l *Lease) ask(ctx context.Context, r *request) error {
	r.answer = make(chan error, 1)
	l.mu.Lock()
	if ended := context.Cause(l.Context()); ended != nil {
		defer l.mu.Unlock()
		return ended
	}
	l.queue = append(l.queue, r)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	var gone error
	select {
	case err := <-r.answer:
		return err
	case <-l.done:
		gone = l.owner.ended
	case <-ctx.Done():
		gone = &UnknownError{context.Cause(ctx)}
	}
	select {
	case err := <-r.answer: // it came at the same time
		return err
	default:
		return gone
	}
}

// take empties the queue.
func (l *Lease) take() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.queue
	l.queue = nil
	return taken
}

// renewed tells callers what the owner learned.
func (l *Lease) renewed(until time.Time, known Document) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = known
	l.right.Extend(until)
}
