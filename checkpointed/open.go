package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Open reads the document, and creates it when there is none: otherwise source__start=latest would move with every tick
// that finds nothing.
func (f *Feed) Open(ctx context.Context) (poller.Session, error) {
	snapshot, err := f.keeper.Load(ctx)
	last := f.cfg.Seen.last(f.cfg.address())
	switch {
	case errors.Is(err, state.ErrNotFound) && !last.IsZero():
		// A new one would begin at source__start, with lower tokens than receivers have seen: that is for a person to decide.
		return nil, &poller.Fault{Event: poller.StateGone, Err: fmt.Errorf("the state document is gone (%w): this process "+
			"has read it at %s. Nothing is begun anew", err, last.UTC().Format(time.RFC3339))}
	case err != nil && !errors.Is(err, state.ErrNotFound):
		return nil, &poller.Fault{Event: poller.CheckpointLoadFailed, Err: fmt.Errorf("reading the state document: %w",
			poller.NameDocument(err, f.cfg.address()))}
	case err == nil:
		f.cfg.Seen.now(f.cfg.address())
	}
	s, fault := f.open(ctx, snapshot, err != nil)
	switch {
	case fault == nil:
		return s, nil
	case snapshot != nil:
		return nil, poller.AfterRead(fault, &snapshot.Doc)
	}
	return nil, fault
}

// open begins a session with the document, or fresh with one that it creates.
func (f *Feed) open(ctx context.Context, snapshot *state.Snapshot, fresh bool) (*session, error) {
	if !fresh {
		if err := pausedFault(snapshot.Paused(), f.cfg.address()); err != nil {
			return nil, err
		}
		if held := snapshot.Held(); held != nil {
			return nil, &poller.Fault{Event: poller.LeaseAcquireSkipped, Err: held} // the database need not be asked
		}
	}
	source, err := f.source.Describe(ctx)
	if err == nil {
		err = source.Refused
	}
	if err != nil {
		return nil, f.cfg.sourceFault(err)
	}
	s := &session{feed: f, source: source, warnings: source.Warnings, nulls: -1, stored: make(chan struct{}, 1)}
	if fresh {
		if snapshot, err = s.create(ctx); err == nil {
			f.cfg.Seen.now(f.cfg.address())
		}
	} else {
		snapshot, err = s.endPause(ctx, snapshot)
	}
	if err != nil {
		return nil, err
	}
	if err := s.adopt(ctx, snapshot); err != nil {
		return nil, err
	}
	return s, nil
}

// beforeLatest is how many rows before source__start=latest are known not to be delivered.
const beforeLatest = 10_000

// widen begins the window below source__start=latest: what is there is remembered as delivered, and what transactions
// that are open now commit there later is found like any other late row. It returns where the window begins, and the
// memory.
func (s *session) widen(
	ctx context.Context, latest change.Cursor,
) (low change.Cursor, first state.Late, memory []byte, err error) {
	source, ok := s.feed.source.(interface {
		// BeforeLatest returns a position that so many rows come after, where source__start=latest was asked for.
		BeforeLatest(ctx context.Context, rows int) (low change.Cursor, asked bool, err error)
	})
	if !ok || s.source.Late != late.Overlap || latest.IsStart() {
		return latest, first, nil, nil
	}
	low, asked, err := source.BeforeLatest(ctx, min(beforeLatest, s.feed.cfg.LateMemory/2))
	if err != nil {
		return nil, first, nil, s.feed.cfg.sourceFault(err)
	}
	if !asked {
		return latest, first, nil, nil
	}
	var there []string
	for at, more := low, true; more; {
		page, err := s.feed.source.Fetch(ctx, change.Range{After: at, UpTo: latest}, poller.Limit{Rows: 1000, Bytes: 8 << 20})
		if err != nil {
			return nil, first, nil, s.feed.cfg.sourceFault(err)
		}
		for i := range page.Events {
			there = append(there, page.Events[i].Known())
		}
		if end := page.End(); end != nil {
			at = end
		}
		more = page.More
	}
	first, memory = late.RememberBelow(latest, there)
	return low, first, memory, nil
}

// create writes the first document, at the position that source__start says.
func (s *session) create(ctx context.Context) (*state.Snapshot, error) {
	doc, memory, err := s.first(ctx)
	if err != nil {
		return nil, err
	}
	twins, err := s.feed.keeper.Twins(ctx, s.source.Fingerprint)
	if err != nil { // a hint only: a store that may not be listed must not stop a poller
		s.warn(fmt.Sprintf("whether this poller has a document under another app name is not known: %v", err))
	}
	snapshot, err := s.feed.keeper.CreateWith(ctx, doc, late.MemoryKind, memory)
	if err != nil {
		return nil, &poller.Fault{Event: poller.CheckpointLoadFailed, Err: fmt.Errorf("creating the state document: %w", err)}
	}
	s.warn(fmt.Sprintf("there was no state document: this poller starts at %s (source__start)%s", Frontier(&doc),
		besides(doc.Backfill)))
	for _, twin := range twins {
		s.warn(fmt.Sprintf("a poller of the same name and source has its checkpoint under another app name, in %s: "+
			"if this app was renamed or moved, set state__app_name to the old name, or every row is delivered again", twin))
	}
	return snapshot, nil
}

// first is the document that a poller begins with, and its memory of late commits.
func (s *session) first(ctx context.Context) (doc state.Document, memory []byte, err error) {
	doc.SourceFingerprint = s.source.Fingerprint
	if s.feed.cfg.Snapshot {
		snapshot, err := s.feed.snapshot(ctx)
		if err != nil {
			return doc, nil, s.feed.cfg.sourceFault(err)
		}
		snapshot.Begin(&doc, "source__start=snapshot")
		return doc, nil, nil
	}
	start, incarnation, err := s.feed.source.Start(ctx)
	if err != nil {
		return doc, nil, s.feed.cfg.sourceFault(err)
	}
	doc.Checkpoint.Incarnation = incarnation
	doc.Checkpoint.Cursor, doc.Late, memory, err = s.widen(ctx, start)
	return doc, memory, err
}

// adopt makes a document the one that this session goes on from, or the one that has taken its place: another instance
// may have been at work since it was read, and deletes the side objects that the document named then.
func (s *session) adopt(ctx context.Context, snapshot *state.Snapshot) error {
	for adoptions := 0; ; adoptions++ {
		err := s.adoptThis(ctx, snapshot)
		var moved *state.MovedError
		if !errors.As(err, &moved) || adoptions == maxAdoptions {
			return err
		}
		snapshot = moved.Snapshot
		if held := snapshot.Held(); held != nil {
			return &poller.Fault{Event: poller.LeaseAcquireSkipped, Err: held}
		}
	}
}

// adoptThis makes a document the one that this session goes on from. Nothing that was handed out before is settled any
// more.
func (s *session) adoptThis(ctx context.Context, snapshot *state.Snapshot) error {
	doc := &snapshot.Doc
	if err := pausedFault(snapshot.Paused(), s.feed.cfg.address()); err != nil {
		return err
	}
	if stored := doc.SourceFingerprint; stored != s.source.Fingerprint {
		return &poller.Fault{Event: poller.FingerprintMismatch,
			Err: fmt.Errorf("the state document was written for another source definition "+
				"(stored %s, settings give %s): server, database, table or query, cursor, key or filter has changed. "+
				"Undo the change, or run `rowrelay state accept-fingerprint %s` to go on at the stored position, or `%s` to start over",
				stored, s.source.Fingerprint, s.feed.cfg.address(), s.source.StartOver(s.feed.cfg.address()))}
	}
	if err := s.sameColumns(doc); err != nil {
		return err
	}
	objects := s.feed.keeper.Named(snapshot)
	from := late.Source{Mode: s.source.Late, Dates: s.source.Dates, Ordered: s.source.Ordered}
	if err := s.feed.late.Adopt(ctx, doc, snapshot.Now(), from, objects.Object); err != nil {
		return err
	}
	if err := s.feed.parking.Adopt(ctx, objects, doc, s.source.origin(), s.source.Coarse); err != nil {
		return err
	}
	s.snapshot, s.checked = snapshot, time.Now()
	s.frontier, s.incarnation, s.table = Frontier(doc), doc.Checkpoint.Incarnation, doc.Checkpoint.Table
	s.start, s.backfill = s.frontier, backfill{}
	s.gap, s.ahead = doc.Checkpoint.Gap, ""
	s.adoptApart(doc)
	s.mu.Lock()
	s.inFlight, s.pending, s.awaited = map[string]*details{}, details{}, 0
	s.mu.Unlock()
	return nil
}

// pausedFault says that an operator paused the poller; nil when it goes on.
func pausedFault(p *state.Paused, address string) error {
	if p == nil {
		return nil
	}
	remedy := fmt.Sprintf("`rowrelay state resume %s` lets it go on", address)
	if p.Moved() {
		remedy = "start this process with the settings of that store; " + remedy +
			" here, and only where nothing was started there"
	}
	return &poller.Fault{Event: poller.Paused,
		Err: fmt.Errorf("paused by %s since %s: %s", p.By, p.At.UTC().Format(time.RFC3339), remedy)}
}

// endPause takes a pause out of the document that has ended by itself: nobody else will.
func (s *session) endPause(ctx context.Context, snapshot *state.Snapshot) (*state.Snapshot, error) {
	p, now := snapshot.Doc.Paused, snapshot.Now()
	if p == nil || !p.Over(now) {
		return snapshot, nil
	}
	after, err := s.feed.keeper.Amend(ctx, func(doc *state.Document) error {
		if doc.Paused != nil && doc.Paused.Over(now) {
			doc.Paused = nil
		}
		return nil
	})
	if err != nil {
		return nil, &poller.Fault{Event: poller.CheckpointLoadFailed, Err: fmt.Errorf("ending a pause that is over: %w", err)}
	}
	s.warn(fmt.Sprintf("resumed, after a replay whose process ended before it had ended its pause (by %s since %s, until %s): "+
		"check whether the dead letter is still there, and replay it again", p.By, p.At.UTC().Format(time.RFC3339),
		p.Until.UTC().Format(time.RFC3339)))
	return after, nil
}

// maxAdoptions bounds how often one Next starts again because the document was changed by somebody who does not own it.
const maxAdoptions = 3
