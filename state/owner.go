package state

import (
	"context"
	"time"
)

// owner is the one who writes a document while its lease is held: first the acquisition, then, in a goroutine of its
// own, every heartbeat, commit and release. Nothing in it is shared.
type owner struct {
	k     *Keeper
	id    string // lease_id
	lease *Lease // nil until the acquisition landed

	doc     Document // as we last knew it to be stored
	version Version
	clock   storeClock
	seq     uint64               // write_seq of the last write that was sent
	sent    map[uint64]time.Time // when each write was sent whose outcome is not known yet
	until   time.Time            // the lease's deadline
	beatAt  time.Time            // when the next heartbeat is due

	releasing bool  // a write with a release was sent
	freed     bool  // and it is stored
	ended     error // why the work is done
	panicked  error // the same, when that was why: nothing is written any more
}

func newOwner(k *Keeper, s *Snapshot, id string) *owner {
	return &owner{k: k, id: id, doc: s.Doc, version: s.version, clock: s.clock, sent: map[uint64]time.Time{}}
}

// write sends doc as the next write, renewing the lease in it (or ending it, if it has no owner), upon the version last
// known. It waits until the deadline at most. An error says nothing about whether the write landed, or will.
//
// A crash before the answer leaves a document that is whole, with or without the change.
func (o *owner) write(ctx context.Context, doc Document, deadline time.Time) error {
	now := time.Now()
	at := o.clock.atMost(now).Truncate(time.Microsecond)
	o.seq++
	l := &doc.Lease
	l.WriteSeq, l.HeartbeatAt, l.ExpiresAt = o.seq, at, at.Add(o.k.cfg.TTL).Truncate(time.Microsecond)
	if l.AcquiredAt.IsZero() {
		l.AcquiredAt = at
	}
	if l.OwnerID == "" {
		l.ExpiresAt = at
	}
	data, err := doc.Encode()
	if err != nil {
		return err
	}
	o.sent[o.seq] = now
	// One request must not use up the whole right: a third of the ttl leaves room to try again.
	stamp, err := bounded(ctx, min(deadline.Sub(now), o.k.cfg.TTL/3), func(ctx context.Context) (Stamp, error) {
		return o.k.cfg.Store.Replace(ctx, o.k.cfg.Key, data, o.version)
	})
	if err != nil {
		return err
	}
	o.adopt(o.k.snapshot(doc, stamp, now))
	return nil
}

// readBack loads what is stored now, within a third of the ttl and not beyond the deadline. Those are its only bounds:
// the outcome of a write is worth knowing even when the invocation was cancelled.
func (o *owner) readBack(ctx context.Context, deadline time.Time) (*Snapshot, error) {
	return bounded(context.WithoutCancel(ctx), min(time.Until(deadline), o.k.cfg.TTL/3), o.k.load)
}

// adopt makes s what we know to be stored. If s holds a write of ours, it renews the right, and no older write can land
// any more.
func (o *owner) adopt(s *Snapshot) {
	l := &s.Doc.Lease
	if wrote, ok := o.sent[l.WriteSeq]; ok && l.LeaseID == o.id {
		o.until = deadlineAfter(wrote, o.k.cfg.TTL, l.ExpiresAt, s.clock, o.k.margin)
		o.beatAt = wrote.Add(o.k.cfg.TTL / 3)
	}
	if s.version != o.version {
		// Whatever is in flight was conditional on the old version: it is done, or never will be.
		clear(o.sent)
	}
	o.doc, o.version, o.clock = s.Doc, s.version, s.clock
	if o.lease != nil {
		o.lease.renewed(o.until, o.doc)
	}
}
