package pollertest

import (
	"context"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Pages is a feed of prepared batches, and the session over it. It may be run once.
type Pages struct {
	Batches            [][]change.Event
	Origin             poller.Origin
	OpenErr, SettleErr error
	NextErr            error // after the batches
}

// Open returns the session.
func (p *Pages) Open(context.Context) (poller.Session, error) { return p, p.OpenErr }

// Next returns the next batch.
func (p *Pages) Next(ctx context.Context, _ poller.Limit) (poller.Grant, error) {
	g := poller.Grant{Context: context.WithoutCancel(ctx), Token: 7, Check: func() error { return nil }, Origin: p.Origin}
	if len(p.Batches) == 0 {
		return g, p.NextErr
	}
	g.Batch = change.Batch{ID: "batch_1", Events: p.Batches[0], More: len(p.Batches) > 1 || p.NextErr != nil}
	p.Batches = p.Batches[1:]
	return g, nil
}

// Parked says that nothing is.
func (p *Pages) Parked([]byte) bool { return false }

// Other finds nothing.
func (p *Pages) Other(context.Context, [][]byte) (poller.Grant, error) { return poller.Grant{}, nil }

// Settle acknowledges what is before the first deferred event.
func (p *Pages) Settle(_ context.Context, s poller.Settlement) (int, error) {
	n := 0
	for i := range s.Batches {
		for _, o := range s.Batches[i].Outcomes {
			if !o.Settles() {
				return n, p.SettleErr
			}
			n++
		}
	}
	return n, p.SettleErr
}

// Close does nothing.
func (p *Pages) Close(context.Context, *poller.Report) error { return nil }
