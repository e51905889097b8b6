package state

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rowrelay/rowrelay/clock"
)

// request is what callers ask of the owner: a commit, a release, or both in one.
type request struct {
	commit  *Commit
	release bool
	giveUp  time.Time // zero: the end of the right
	// first is the write that carried it first; 0 while none did. Every later write carries it too, until it is answered.
	first  uint64
	answer chan error // holds one
}

// run serves requests and heartbeats until the right ends. A panic (of the store, of ours) ends the right: what is
// stored is not known any more, and nothing is written over it. Callers whose requests are under way then see that done
// is closed.
func (o *owner) run(ctx context.Context) {
	defer close(o.lease.done)
	defer func() {
		if v := recover(); v != nil {
			o.panicked = fmt.Errorf("the lease was given up, because writing the state document panicked: %v\n%s", v,
				debug.Stack())
			o.ended = nil
			o.end(o.panicked)
		}
		fail(o.lease.take(), o.ended)
	}()
	beat := time.NewTimer(time.Until(o.beatAt))
	defer beat.Stop()
	for o.over() == nil {
		select {
		case <-o.lease.wake:
		case <-beat.C:
		case <-o.lease.Context().Done():
		}
		// Whichever of these it was, drive looks at the queue and at the clock itself.
		o.drive(ctx)
		beat.Reset(time.Until(o.beatAt))
	}
}

// drive writes until nothing is asked and no heartbeat is due, or the right has ended. Requests that come in meanwhile
// join the next write.
func (o *owner) drive(ctx context.Context) {
	var pending []*request
	var last error
	wait := pauses(min(o.k.cfg.TTL/6, 2*time.Second))
	for refusals := 0; ; {
		pending = o.dropOverdue(append(pending, o.lease.take()...), last)
		doc, carried := o.compose(pending)
		pending = carried
		if ended := o.over(); ended != nil {
			fail(pending, because(ended, last))
			return
		}
		if len(pending) == 0 && time.Now().Before(o.beatAt) {
			return
		}
		if doc.Lease.OwnerID == "" {
			// From here on others may take it, as soon as this write lands, and we may be the last to know.
			o.releasing = true
			o.lease.right.End(ErrReleased)
		}
		last = o.write(ctx, doc, o.deadline(pending, o.until))
		if last == nil {
			o.answer(pending)
			return
		}
		pending = o.reconcile(ctx, pending)
		if permanent(last) {
			if refusals++; refusals == permanentTries {
				o.giveUp(pending, last)
				o.beatAt = time.Now().Add(o.k.cfg.TTL / 6)
				return
			}
		}
		if o.over() == nil && (len(pending) > 0 || !time.Now().Before(o.beatAt)) {
			_ = clock.Sleep(ctx, min(wait.NextBackOff(), time.Until(o.until))) // the next write tells that ctx has ended
		}
	}
}

// deadline is until when a write or a read for pending is waited for: until the last of them gives up, and to the limit
// where one does not, or none is asked.
func (o *owner) deadline(pending []*request, limit time.Time) time.Time {
	var last time.Time
	for _, r := range pending {
		if r.giveUp.IsZero() {
			return limit
		}
		if r.giveUp.After(last) {
			last = r.giveUp
		}
	}
	if last.IsZero() || limit.Before(last) {
		return limit
	}
	return last
}

// over tells why the owner's work is done; nil while it is not. Once a release is on its way, the lease has ended for
// everybody else, while the owner goes on until it knows what became of it.
func (o *owner) over() error {
	if o.ended != nil {
		return o.ended
	}
	switch err := o.lease.Check(); {
	case err != nil && !o.releasing:
		o.end(err)
	case clock.Passed(o.until):
		o.end(ErrExpired)
	}
	return o.ended
}

// end ends the owner's work, and the lease with it.
func (o *owner) end(cause error) {
	if o.ended == nil {
		o.ended = cause
	}
	o.lease.right.End(cause)
}

// compose applies the requests in order to the document as it is stored, answers those that it refuses, and returns the
// document to write with those that it carries.
func (o *owner) compose(pending []*request) (Document, []*request) {
	doc := o.doc
	var carried []*request
	for _, r := range pending {
		next, err := r.apply(doc, o.clock.atMost(time.Now()))
		if err != nil {
			o.giveUp([]*request{r}, err)
			continue
		}
		if r.first == 0 {
			r.first = o.seq + 1
		}
		doc, carried = next, append(carried, r)
	}
	return doc, carried
}

// apply returns the document with the request in it.
func (r *request) apply(doc Document, now time.Time) (Document, error) {
	if r.commit != nil {
		var err error
		if doc, err = r.commit.apply(doc, now); err != nil {
			return doc, err
		}
	}
	if r.release {
		doc.Lease.OwnerID = ""
	}
	return doc, nil
}

// reconcile reads back after a write that was reported as failed, answers what that settles, and returns the rest.
func (o *owner) reconcile(ctx context.Context, pending []*request) []*request {
	s, err := o.readBack(ctx, o.deadline(pending, time.Now().Add(o.k.cfg.TTL/3)))
	var broken *DocumentError
	switch {
	case errors.Is(err, ErrNotFound), errors.As(err, &broken):
		o.lost(pending, nil, fmt.Errorf("%w: %w", ErrLost, err))
		return nil
	case err != nil:
		return pending // nothing learned
	case s.Doc.Lease.LeaseID != o.id:
		o.lost(pending, s, lostTo(s))
		return nil
	}
	o.adopt(s)
	var done, open []*request
	for _, r := range pending {
		if r.first <= s.Doc.Lease.WriteSeq {
			done = append(done, r)
		} else {
			open = append(open, r)
		}
	}
	o.released(done)
	if s.Doc.Lease.OwnerID == "" && o.over() == nil {
		o.lost(open, s, lostTo(s))
		open = nil
	}
	confirm(done)
	return open
}

// answer tells callers that their requests are stored.
func (o *owner) answer(done []*request) {
	o.released(done)
	confirm(done)
}

// released ends the lease where one of the requests that are stored is its release.
func (o *owner) released(done []*request) {
	for _, r := range done {
		if r.release {
			o.freed = true
			o.end(ErrReleased)
		}
	}
}

// confirm answers requests that are stored.
func confirm(done []*request) {
	for _, r := range done {
		r.answer <- nil
	}
}

// lost ends the lease on the proof that s is (nil: the document is gone or unreadable), and answers requests by what it
// shows to have landed before.
func (o *owner) lost(pending []*request, s *Snapshot, cause error) {
	valid := o.over() == nil
	var done, undone []*request
	for _, r := range pending {
		if s != nil && r.first != 0 && o.landed(r, &s.Doc, valid) {
			done = append(done, r)
		} else {
			undone = append(undone, r)
		}
	}
	o.released(done)
	o.end(cause) // before anybody is answered: who asks then must not find a right that is gone
	confirm(done)
	fail(undone, cause)
}

// landed reports whether a request that was sent is part of doc, which is not ours any more. The lease in it says so,
// if it is ours or the one that followed ours. Further on, or after a binary that does not write down what it found, a
// commit is looked for by its content; and a release that was sent while the right lasted must have landed, because
// nobody may take a lease that is neither released nor expired (unless an operator broke it, which is as good).
func (o *owner) landed(r *request, doc *Document, valid bool) bool {
	switch l := &doc.Lease; {
	case l.LeaseID == o.id && r.commit != nil:
		return r.first <= l.WriteSeq
	case l.PreviousID == o.id && r.commit != nil:
		return r.first <= l.PreviousSeq
	case r.commit != nil:
		return r.commit.foundIn(doc, &o.doc)
	default:
		return valid
	}
}

// dropOverdue answers requests that have waited long enough.
func (o *owner) dropOverdue(pending []*request, last error) []*request {
	var open, overdue []*request
	for _, r := range pending {
		if r.giveUp.IsZero() || time.Now().Before(r.giveUp) {
			open = append(open, r)
		} else {
			overdue = append(overdue, r)
		}
	}
	o.giveUp(overdue, because(errors.New("the state store did not take it in time"), last))
	return open
}

// giveUp answers requests that are not tried any more. If one of them is a release that may have been sent, the lease
// is over: it may be another's by the time that we know, and heartbeats would keep it from expiring.
func (o *owner) giveUp(failed []*request, err error) {
	for _, r := range failed {
		if r.release && (r.first != 0 || r.commit == nil) {
			o.end(ErrReleased)
		}
	}
	fail(failed, err)
}

// fail answers requests with err.
func fail(pending []*request, err error) {
	for _, r := range pending {
		r.answer <- err
	}
}

// because adds the store's last answer to err.
func because(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w (the state store's last answer: %w)", err, last)
}

// lostTo is ErrLost with what the document says about it.
func lostTo(s *Snapshot) error {
	l := &s.Doc.Lease
	if l.OwnerID == "" {
		return fmt.Errorf("%w: the document says that nobody holds it (token %d)", ErrLost, l.FencingToken)
	}
	return fmt.Errorf("%w: %s holds it with token %d", ErrLost, l.OwnerID, l.FencingToken)
}
