package publisher

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
)

// Cleaned is what a clean-up did.
type Cleaned struct {
	Rows, Chunks int64
	More         bool // it was stopped before its end
	Took         time.Duration
}

// longestRest is how long a clean-up rests between two chunks at most.
const longestRest = time.Second

// Cleanup deletes what was published or discarded longer ago than the retention, a chunk at a time, and rests after
// each as long as it took, so that it takes half of the database's time at most. A crash, or a stop, anywhere loses
// nothing: what was deleted was published, and the next run begins at the low end again, where little is left.
func (p *Publisher) Cleanup(ctx context.Context, progress func(int64)) (Cleaned, error) {
	begun := time.Now()
	c := Cleaned{}
	cfg := &p.catalog.cfg
	o, err := p.cleanable(ctx)
	if err != nil {
		return c, err
	}
	chunk := max(cfg.CleanupChunk, 1)
	if most := p.catalog.texts.mostRows; most > 0 {
		chunk = min(chunk, most)
	}
	// One chunk may take as long as a statement may, and its repetitions; then comes the rest.
	ttl := max(cfg.ClaimTTL, 2*cfg.Timeout) + longestRest
	claim, owner := o.events.Claims, claims.OwnerName(cfg.App, cfg.Instance, alive.ID(cfg.Alive))
	if got, err := claim.ClaimCleanup(ctx, owner, ttl); err != nil || !got {
		return c, stopped(ctx, &c, begun, err)
	}
	defer func() { // also after a stop; where it fails, the claim expires
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestRest)
		defer cancel()
		_ = claim.Release(ctx, owner, nil)
	}()
	for after := ""; ; {
		begin := time.Now()
		n, last, err := o.events.Clean(ctx, after, chunk)
		c.Rows, c.Chunks = c.Rows+n, c.Chunks+1
		if progress != nil && n > 0 {
			progress(c.Rows)
		}
		if err == nil && last == "" {
			c.Took = time.Since(begun)
			return c, nil
		}
		if err == nil {
			after = last
			err = clock.Sleep(ctx, min(time.Since(begin), longestRest))
		}
		if err == nil {
			err = claim.RenewCleanup(ctx, owner, ttl)
		}
		if err != nil {
			return c, stopped(ctx, &c, begun, err)
		}
	}
}

// CountCleanable counts what Cleanup would delete now.
func (p *Publisher) CountCleanable(ctx context.Context) (int64, error) {
	o, err := p.cleanable(ctx)
	if err != nil {
		return 0, err
	}
	return o.events.CountOld(ctx)
}

// cleanable opens an outbox that can be cleaned up.
func (p *Publisher) cleanable(ctx context.Context) (*opened, error) {
	if retention := p.catalog.cfg.Retention; retention <= 0 {
		return nil, fmt.Errorf("%w: source__retention is %s: it has to be longer than nothing", poller.ErrConfig, retention)
	}
	o, err := p.catalog.open(ctx)
	if err != nil {
		return nil, err
	}
	return o, o.events.Cleanable()
}

// stopped completes what is told of a clean-up that did not come to its end; being told to stop is no error.
func stopped(ctx context.Context, c *Cleaned, begun time.Time, err error) error {
	c.Took, c.More = time.Since(begun), err != nil
	if c.More && ctx.Err() == nil {
		return err
	}
	return nil
}
