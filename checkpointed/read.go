package checkpointed

import (
	"context"
	"errors"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// read fetches one page, and refuses that of another database.
func (s *session) read(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	if err := s.recordedGap(); err != nil {
		return change.Page{}, err
	}
	page, err := s.feed.source.Fetch(ctx, r, limit)
	if errors.Is(err, poller.ErrGap) {
		return change.Page{}, &poller.Fault{Event: poller.SourceGap, Err: s.withGapRemedy(err)}
	}
	if err != nil {
		return change.Page{}, s.feed.cfg.sourceFault(err)
	}
	if err := s.sameDatabase(page.Incarnation); err != nil {
		return change.Page{}, err
	}
	if err := s.sameTable(ctx, page.Table); err != nil {
		return change.Page{}, err
	}
	s.mu.Lock()
	s.warnings = append(s.warnings, page.Warnings...)
	if page.NullCursors >= 0 {
		s.nulls = page.NullCursors
	}
	s.mu.Unlock()
	return page, nil
}

// endOf is the position after a whole batch.
func endOf(b *change.Batch) change.Cursor {
	switch {
	case b.To != nil:
		return b.To
	case len(b.Events) > 0:
		return b.Events[len(b.Events)-1].Position()
	default:
		return b.From
	}
}
