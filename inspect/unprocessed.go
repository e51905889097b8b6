package inspect

import (
	"context"
	"errors"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/state"
)

// Unprocessed counts what an output has still to deliver, up to most of each: the changes after its position, the
// parked events with those that wait for them, and the rest of a backfill. While there is any of it the poller has to
// be ticked.
func (p *Poller) Unprocessed(ctx context.Context, o *Output, most int) (int64, error) {
	doc, err := o.Read(ctx)
	if errors.Is(err, state.ErrNotFound) {
		n, err := p.unbegun(ctx, most)
		if p.Config.Source.Start == "snapshot" { // the rows of the table, too: how many there are, its begin will say
			n = max(n, 1)
		}
		return n, err
	}
	if err != nil {
		return 0, err
	}
	n, err := p.wired.Source.CountUpTo(ctx, change.Range{After: checkpointed.Frontier(&doc.Doc)}, most)
	if err != nil {
		return 0, err
	}
	n += int64(doc.Doc.Parked.Count)
	if b := doc.Doc.Backfill; b != nil {
		n += max(b.Total-b.Done, 1)
	}
	return min(n, int64(most)), nil
}

// SharedUnprocessed is Unprocessed where instances share the changes by leases: those that nobody has processed, the
// leased and the failed ones included.
func (p *Poller) SharedUnprocessed(ctx context.Context, most int) (int64, error) {
	told, err := p.wired.Leases.Show(ctx)
	if p.wired.Leases.IsMissing(err) || err == nil && !told.Known {
		return p.unbegun(ctx, most)
	}
	return min(told.Waiting, int64(most)), err
}

// unbegun counts what the first tick will find.
func (p *Poller) unbegun(ctx context.Context, most int) (int64, error) {
	start, _, err := p.wired.Source.Start(ctx)
	if err != nil {
		return 0, err
	}
	return p.wired.Source.CountUpTo(ctx, change.Range{After: start}, most)
}
