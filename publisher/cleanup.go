package publisher

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// cleanupUnit is the claim of the one clean-up of an outbox that runs.
const cleanupUnit = "cleanup"

// longestRest is how long a clean-up rests between two chunks at most.
const longestRest = time.Second

// escalation is where SQL Server begins to lock the whole table instead of rows, less a margin: a larger chunk would stop
// every writer.
const escalation = 4000

// errCleanup: another clean-up took over, because this one was thought dead.
var errCleanup = errors.New("another instance has taken the clean-up over")

// Cleanup deletes what was published or discarded longer ago than the retention, a chunk at a time, and rests after each as
// long as it took, so that it takes half of the database's time at most. A crash, or a stop, anywhere loses nothing: what
// was deleted was published, and the next run begins at the low end again, where little is left.
func (p *Publisher) Cleanup(ctx context.Context, progress func(int64)) (Cleaned, error) {
	begun := time.Now()
	c := Cleaned{}
	if p.cfg.Retention <= 0 {
		return c, fmt.Errorf("%w: source__retention is %s: it has to be longer than nothing", poller.ErrConfig, p.cfg.Retention)
	}
	t, a, err := p.admin(ctx)
	if err != nil {
		return c, err
	}
	if err := a.cleanable(); err != nil {
		return c, err
	}
	chunk := max(p.cfg.CleanupChunk, 1)
	if t.d.engine() == "sqlserver" {
		chunk = min(chunk, escalation)
	}
	right, err := t.claimCleanup(ctx)
	if err != nil || right == nil {
		return c, stopped(ctx, &c, begun, err)
	}
	defer right.release(ctx)
	for after := ""; ; {
		begin := time.Now()
		n, last, err := a.clean(ctx, after, chunk)
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
			err = pauseFor(ctx, min(time.Since(begin), longestRest))
		}
		if err == nil {
			err = right.renew(ctx)
		}
		if err != nil {
			return c, stopped(ctx, &c, begun, err)
		}
	}
}

// stopped completes what is told of a clean-up that did not come to its end; being told to stop is no error.
func stopped(ctx context.Context, c *Cleaned, begun time.Time, err error) error {
	c.Took, c.More = time.Since(begun), err != nil
	if c.More && ctx.Err() == nil {
		return err
	}
	return nil
}

// cleanupRight is the claim under which a clean-up runs.
type cleanupRight struct {
	t      *sqlTable
	outbox string
	owner  string
	ttl    time.Duration
}

// claimCleanup returns nil where another clean-up runs.
func (t *sqlTable) claimCleanup(ctx context.Context) (*cleanupRight, error) {
	c, err := t.catalog(ctx)
	if err != nil {
		return nil, err
	}
	r := &cleanupRight{t: t, outbox: c.name, owner: asOwner(t.cfg.App, t.cfg.Instance, "cleanup-"+rand.Text()[:8]),
		// One chunk may take as long as a statement may, and its repetitions; then comes the rest.
		ttl: max(t.cfg.ClaimTTL, 2*t.cfg.Timeout) + longestRest}
	var got []string
	err = t.claimsTx(ctx, "claim the clean-up", func(ctx context.Context, q querier) error {
		got, err = t.d.take(ctx, q, t, c.name, claim{owner: r.owner, ttl: r.ttl}, []unitInfo{{unit: cleanupUnit}}, "")
		return err
	})
	if err != nil || len(got) == 0 {
		return nil, err
	}
	return r, nil
}

func (r *cleanupRight) renew(ctx context.Context) error {
	return r.t.do(ctx, "renew the clean-up's claim", func(ctx context.Context, q querier) error {
		s := r.t.statement()
		s.add("UPDATE ", r.t.claims.String(), " SET expires_at = ", r.t.d.later(s.arg(r.ttl.Milliseconds())), " WHERE outbox = ", s.arg(r.outbox),
			" AND unit = '", cleanupUnit, "' AND owner = ", s.arg(r.owner), " AND expires_at > ", r.t.d.now())
		n, err := s.exec(ctx, q)
		if err == nil && n == 0 {
			return errCleanup
		}
		return err
	})
}

// release lets the next clean-up begin at once, also after a stop; where it fails, the claim expires.
func (r *cleanupRight) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestRest)
	defer cancel()
	s := r.t.statement()
	s.add("DELETE FROM ", r.t.claims.String(), " WHERE outbox = ", s.arg(r.outbox), " AND unit = '", cleanupUnit, "' AND owner = ", s.arg(r.owner))
	_, _ = s.exec(ctx, r.t.db) // see above
}
