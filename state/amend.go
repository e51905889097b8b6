package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/clock"
)

// Amend changes the document under a live lease, by compare-and-swap, again and again until it lands: edit is called
// with the document as it is stored and returns an error to refuse. It may change Paused, Backfill and Skips only: what
// the holder keeps (checkpoint, lease, late, parked) stays. The holder meets the change with its next write or read.
//
// A write whose outcome is unknown counts as done when the three members are found as edit wanted them; otherwise edit
// is called again, on what is stored then. It is tried for twice as long as a Load; errors are edit's own, those of
// Load, a *DocumentError for members that no document can hold, and the store's fault, after which the change may still
// land.
func (k *Keeper) Amend(ctx context.Context, edit func(*Document) error) (*Snapshot, error) {
	giveUp := time.Now().Add(2 * k.patience())
	wait := pauses(250 * time.Millisecond)
	var wanted []byte // what the last try, whose outcome is not known, would have made of the operators' members
	var last error
	for refusals := 0; ; {
		s, err := k.Load(ctx)
		if err != nil {
			return nil, because(fmt.Errorf("changing %s: %w", k.cfg.Key, err), last)
		}
		if wanted != nil && bytes.Equal(s.Doc.operators(), wanted) {
			return s, nil
		}
		doc, err := s.amended(edit)
		if err != nil {
			return nil, fmt.Errorf("changing %s: %w", k.cfg.Key, err)
		}
		if wanted = doc.operators(); bytes.Equal(s.Doc.operators(), wanted) {
			return s, nil // as it stands
		}
		var landed *Snapshot
		if landed, last = k.swap(ctx, doc, s.version); last == nil {
			return landed, nil
		}
		if permanent(last) {
			refusals++
		}
		pause := wait.NextBackOff()
		if refusals == permanentTries || ctx.Err() != nil || time.Now().Add(pause).After(giveUp) {
			return nil, fmt.Errorf("changing %s: %w", k.cfg.Key, last)
		}
		_ = clock.Sleep(ctx, pause)
		// The next look finds it done, or what there is to change now.
	}
}

// amended is the document as edit makes it, with all that an operator may not change under a live lease as it was.
func (s *Snapshot) amended(edit func(*Document) error) (Document, error) {
	changed := s.Doc
	if err := edit(&changed); err != nil {
		return Document{}, err
	}
	doc := s.Doc
	doc.Paused, doc.Backfill, doc.Skips = changed.Paused, changed.Backfill, lastSkips(changed.Skips)
	data, err := doc.checked()
	if err != nil {
		return Document{}, err
	}
	return Decode(data)
}

// operators are the members that operators change, as bytes to compare.
func (d *Document) operators() []byte {
	only := Document{Paused: d.Paused, Backfill: d.Backfill, Skips: d.Skips}
	return only.encode(lastSkips(d.Skips))
}

// swap replaces one version, in one try.
func (k *Keeper) swap(ctx context.Context, doc Document, version Version) (*Snapshot, error) {
	data, err := doc.Encode()
	if err != nil {
		return nil, err
	}
	return bounded(ctx, k.patience(), func(ctx context.Context) (*Snapshot, error) {
		sent := time.Now()
		stamp, err := k.cfg.Store.Replace(ctx, k.cfg.Key, data, version)
		if err != nil {
			return nil, err
		}
		return k.snapshot(doc, stamp, sent), nil
	})
}

// BreakLease empties the owner and raises the fencing token, by compare-and-swap on the very version that s is, whoever
// holds it: an operator's last resort. The holder loses its right with its next write; it may deliver until then, under
// the lower token. Whatever it had stored before stays, and it learns so: lease_id and write_seq are kept. Errors are
// those of Edit but for *HeldError; a holder that renews its lease between the look and the break makes it ErrConflict.
func (k *Keeper) BreakLease(ctx context.Context, s *Snapshot) (*Snapshot, error) {
	doc := s.Doc
	doc.Lease.OwnerID = ""
	doc.Lease.FencingToken++
	data, err := doc.Encode()
	if err == nil {
		err = k.overwrite(ctx, data, s.version)
	}
	if err != nil {
		return nil, fmt.Errorf("breaking the lease in %s: %w", k.cfg.Key, err)
	}
	return k.Load(ctx)
}

// Clone creates this keeper's document with another poller's position, of which the order keys that are read apart are
// a part: all but the lease (token 0), parked events,
// memory, pause, backfill and skips, which are that poller's: what it has parked, or sends again, it delivers. A read
// of the whole table goes on in both. In mode overlap the rows above the window's low edge are delivered again.
// ErrConflict where the document exists.
func (k *Keeper) Clone(ctx context.Context, from Document) (*Snapshot, error) {
	doc := from
	doc.PollerName = k.cfg.Poller
	doc.Lease, doc.Parked, doc.restParked = LeaseRecord{}, ObjectRef{}, nil
	doc.Checkpoint.AcceptedAt = time.Time{} // of another destination, perhaps
	doc.Late = Late{Mode: from.Late.Mode, rest: from.Late.rest}
	if doc.Paused, doc.Skips = nil, nil; doc.Backfill != nil && !doc.Backfill.Whole {
		doc.Backfill = nil
	}
	data, err := doc.checked()
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", k.cfg.Key, err)
	}
	unheard := false // a try failed that may have been done
	_, err = retry(ctx, k.patience(), func(ctx context.Context) (Stamp, error) {
		stamp, err := k.cfg.Store.Create(ctx, k.cfg.Key, data)
		if errors.Is(err, ErrConflict) && unheard {
			stored, loadErr := k.cfg.Store.Load(ctx, k.cfg.Key)
			if loadErr == nil && bytes.Equal(stored.Data, data) {
				return stored.Stamp, nil
			}
		}
		unheard = unheard || err != nil
		return stamp, err
	})
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", k.cfg.Key, err)
	}
	return k.Load(ctx)
}
