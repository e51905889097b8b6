package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/clock"
)

// permanentTries is how often a write is tried when each answer says that it is of no use (403): once more than once,
// because such answers also come from a gateway or a key that is being rotated.
const permanentTries = 3

// acquirePatience bounds an acquisition that the store does not answer: the tick has a budget, and nothing is delivered
// yet.
const acquirePatience = 10 * time.Second

// Acquire takes the lease by replacing the very version that s is, in one write. Errors:
//
//   - *HeldError: another holds it;
//   - *MovedError: the document changed and nobody holds it;
//   - ErrNotFound: the document is gone;
//   - anything else: the store failed, and the write may still land: the lease then expires unused.
//
// The lease outlives ctx; it must be released.
func (k *Keeper) Acquire(ctx context.Context, s *Snapshot) (*Lease, error) {
	if held := s.Held(); held != nil {
		return nil, held
	}
	o := newOwner(k, s, alive.ID(k.cfg.Alive))
	wait := pauses(k.cfg.TTL / 6)
	giveUp := time.Now().Add(min(k.cfg.TTL-k.margin, acquirePatience))
	for tries := 1; ; tries++ {
		err := o.write(ctx, o.acquired(s), giveUp)
		if err == nil {
			return o.start(ctx), nil
		}
		done, readErr := o.readAcquisition(ctx, s.version, giveUp.Add(k.releasePatience()))
		if done {
			return o.start(ctx), nil
		}
		if readErr != nil {
			return nil, readErr
		}
		pause := wait.NextBackOff()
		if permanent(err) && tries >= permanentTries || ctx.Err() != nil || time.Now().Add(pause).After(giveUp) {
			return nil, fmt.Errorf("acquiring the lease in %s: %w", k.cfg.Key, err)
		}
		_ = clock.Sleep(ctx, pause)
	}
}

// acquired is the document of s with the lease taken.
func (o *owner) acquired(s *Snapshot) Document {
	doc := s.Doc
	if l := &doc.Lease; l.LeaseID != "" {
		l.PreviousID, l.PreviousSeq = l.LeaseID, l.WriteSeq
	}
	doc.Lease.OwnerID = o.k.cfg.Owner
	doc.Lease.LeaseID = o.id
	doc.Lease.FencingToken++
	doc.Lease.TTL = o.k.cfg.TTL
	doc.Lease.AcquiredAt = time.Time{} // write fills it in
	return doc
}

// readAcquisition reads back an acquisition that was reported as failed. It returns true when it landed, an error when
// it never can, and neither while that is open: the stored version is still the one we wrote upon, or nothing was
// learned by the deadline.
func (o *owner) readAcquisition(ctx context.Context, base Version, deadline time.Time) (bool, error) {
	s, err := o.readBack(ctx, deadline)
	var broken *DocumentError
	switch {
	case errors.Is(err, ErrNotFound), errors.As(err, &broken):
		return false, fmt.Errorf("acquiring the lease in %s: %w", o.k.cfg.Key, err)
	case err != nil:
		return false, nil //nolint:nilerr // nothing learned: the caller reports the write's own error
	case s.Doc.Lease.LeaseID == o.id && s.Doc.Lease.OwnerID != "":
		o.adopt(s)
		return true, nil
	case s.version == base:
		return false, nil
	}
	if held := s.Held(); held != nil {
		return false, held
	}
	return false, &MovedError{Snapshot: s}
}
