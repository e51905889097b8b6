package checkpointed

import (
	"cmp"
	"context"
	"errors"
	"fmt"

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

// gapRemedy says what an operator can do about a gap.
func (s *session) gapRemedy() string {
	name := s.feed.cfg.address()
	return fmt.Sprintf("Run `rowrelay state accept-gap %s` to go on at the stored position, or `rowrelay state reset %s --to "+
		"beginning` to start over", name, name)
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
			return &poller.Fault{Event: poller.SourceGap, Err: fmt.Errorf("%w. %s", err, s.gapRemedy())}
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
	was, name := s.source.Retyped(doc), s.feed.cfg.address()
	if was == "" {
		return nil
	}
	return &poller.Fault{Event: poller.FingerprintMismatch,
		Err: fmt.Errorf("the columns of the cursor or key have changed their type (stored %s, now %s): the position "+
			"may mean another row there. Change the type back, or run `rowrelay state accept-fingerprint %s` to go on at the stored position, or "+
			"`rowrelay state reset %s --to beginning` to start over", was, s.source.Columns, name, name)}
}
