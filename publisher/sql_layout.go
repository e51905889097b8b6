package publisher

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// What follows hands each question about events to what knows the outbox' columns.

func (t *sqlTable) look(ctx context.Context) (glance, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return glance{}, err
	}
	return c.events.look(ctx)
}

func (t *sqlTable) fetch(ctx context.Context, ranges []bucketRange, after position, limit poller.Limit) ([]row, bool, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, false, err
	}
	return c.events.fetch(ctx, ranges, after, limit)
}

func (t *sqlTable) pick(ctx context.Context, owner string, token uint64, ttl time.Duration, limit poller.Limit) ([]row, bool, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, false, err
	}
	return c.events.pick(ctx, owner, token, ttl, limit)
}

func (t *sqlTable) due(ctx context.Context, ranges []bucketRange, limit poller.Limit, by claim) ([]row, time.Duration, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, -1, err
	}
	return c.events.due(ctx, ranges, limit, by)
}

func (t *sqlTable) other(ctx context.Context, ranges []bucketRange, avoid []aggregate) (*row, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return c.events.other(ctx, ranges, avoid)
}

func (t *sqlTable) settle(ctx context.Context, owner string, held int, m marks) error { //nolint:gocritic // the interface's
	c, err := t.catalog(ctx)
	if err != nil {
		return err
	}
	return c.events.settle(ctx, owner, held, m)
}

func (t *sqlTable) mend(ctx context.Context) (int, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return 0, err
	}
	return c.events.mend(ctx)
}

func (t *sqlTable) work(ctx context.Context, n int) ([]int, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return c.events.work(ctx, n)
}

func (t *sqlTable) figures(ctx context.Context) (poller.OutboxFigures, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return poller.OutboxFigures{}, err
	}
	return c.events.figures(ctx)
}
