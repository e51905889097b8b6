package checkpointed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// sameDatabase compares the incarnation of the database that answered with that of the checkpoint. Where a failover to
// a replica may go on (source__on_failover=continue), it warns, and the next commit records the new one. Where the
// checkpoint names none, the first answer of the session does, so that a restore meanwhile is seen.
func (s *session) sameDatabase(incarnation string) error {
	if s.incarnation == "" || incarnation == "" {
		s.incarnation = cmp.Or(s.incarnation, incarnation)
		s.record(incarnation)
		return nil
	}
	relation, record := s.feed.source.Compare(s.incarnation, incarnation)
	switch {
	case relation == SameDatabase:
		s.record(record)
		return nil
	case relation == FailedOver && s.feed.cfg.Continue:
		s.warn(fmt.Sprintf("the database failed over (incarnation %s, now %s), and source__on_failover=continue goes on: rows "+
			"that the old primary had not replicated are lost, and what took their place may lie below the checkpoint",
			s.incarnation, incarnation))
		s.incarnation = record
		s.record(record)
		return nil
	}
	return &poller.Fault{Event: poller.SourceGap,
		Err: fmt.Errorf("the database is not the one that the checkpoint was taken "+
			"from (incarnation %s, now %s): it was restored, failed over or replaced, and rows may have come or gone below the "+
			"checkpoint. %s", s.incarnation, incarnation, s.gapRemedy())}
}

// gapRemedy says what an operator can do about a gap. Where the position is ahead of what there is, nothing goes on at
// it: only the command knows, and tells what would be skipped.
func (s *session) gapRemedy() string {
	name := s.feed.cfg.address()
	return fmt.Sprintf("Run `rowrelay state accept-gap %s` to go on (it says first from where, and what that skips), or `%s` to "+
		"start over", name, s.source.StartOver(name))
}

// withGapRemedy is err and the remedy, unless the source has said its own: the changes of a table have another one.
func (s *session) withGapRemedy(err error) error {
	if err = poller.NameDocument(err, s.feed.cfg.address()); strings.Contains(err.Error(), "rowrelay state accept-gap") {
		return err
	}
	return fmt.Errorf("%w. %s", err, s.gapRemedy())
}

// maxGap bounds what of a gap is recorded, in bytes.
const maxGap = 2 << 10

// foundGap notes a gap that Close is to record: the position is ahead of what the source has counted. Rows to come take
// the counter past it, and nothing would tell any more that those up to there were never delivered.
func (s *session) foundGap(err error) {
	if errors.Is(err, poller.ErrAhead) && s.gap == "" {
		_, why, _ := strings.Cut(err.Error(), poller.ErrGap.Error()+": ")
		why, _, _ = strings.Cut(why, ". ") // what to do about it may be another thing by then
		s.ahead = strings.ToValidUTF8(why[:min(len(why), maxGap)], "")
	}
}

// recordedGap is the fault of a gap that the document names: no one has decided on it.
func (s *session) recordedGap() error {
	if s.gap == "" {
		return nil
	}
	return &poller.Fault{Event: poller.SourceGap, Err: fmt.Errorf("%w: an earlier tick found this in %s. Rows that came "+
		"since may lie below the position, where they are never seen. %s", poller.ErrGap, s.gap, s.gapRemedy())}
}

// recordGap writes the gap that this session found into the document, as an operator would: by compare-and-swap, and
// not while an instance is at work. Where it cannot, the next tick finds the gap again, or the instance at work does.
func (s *session) recordGap(ctx context.Context, worked bool) {
	if s.ahead == "" {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, closePatience, poller.ErrLate)
	defer cancel()
	at, err := s.snapshot, error(nil)
	if worked { // its own commits have changed the document
		at, err = s.feed.keeper.Load(ctx)
	}
	if err == nil {
		_, err = s.feed.keeper.Edit(ctx, at, func(d *state.Document) { d.Checkpoint.Gap = s.ahead })
	}
	var held *state.HeldError
	if err != nil && !errors.As(err, &held) && !errors.Is(err, state.ErrConflict) {
		s.warn(fmt.Sprintf("that there is a gap could not be recorded, the next tick looks for it again: %v", err))
	}
}

// record has the next commit store an incarnation.
func (s *session) record(incarnation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newIncarnation = incarnation
}

// sameTable compares the table that answered with that of the checkpoint. One that was made anew and filled again may
// hold rows below the position, which are never seen. Where it holds none, the next commit records its identity.
//
// It is compared at the live position, whichever read met the table. A chunk of a backfill begins before that position,
// and a read of rows that are held back after it.
func (s *session) sameTable(ctx context.Context, table string) error {
	if s.table != "" && table != "" && s.table != table && s.feed.replaced != table {
		warning, err := s.feed.source.Replaced(ctx, s.feed.late.Position(), s.table, table)
		switch {
		case errors.Is(err, poller.ErrGap):
			return &poller.Fault{Event: poller.SourceGap, Err: s.withGapRemedy(err)}
		case err != nil:
			return s.feed.cfg.sourceFault(err)
		case warning != "":
			s.warn(warning)
		}
		s.feed.replaced = table
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newTable = table
	return nil
}

// sameColumns compares the kinds of the cursor's and key's columns with those that the position was read in: the same
// text in a column of another kind is another moment, or has another place in the order.
func (s *session) sameColumns(doc *state.Document) error {
	was, is := s.source.Retyped(doc)
	name := s.feed.cfg.address()
	if was == "" {
		return nil
	}
	return &poller.Fault{Event: poller.FingerprintMismatch,
		Err: fmt.Errorf("the columns of the cursor or key have changed their type or collation (stored %s, now %s): the "+
			"position may mean another row there. Change it back, or run `rowrelay state accept-fingerprint %s` to go on at the stored position, or "+
			"`%s` to start over", was, is, name, s.source.StartOver(name))}
}
