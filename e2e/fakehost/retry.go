package fakehost

import (
	"context"
	"time"
)

// delay is the pause before a further attempt; the first of them has the number 1.
func (p *retryPolicy) delay(attempt int) time.Duration {
	if p.last == 0 {
		return p.first
	}
	return min(p.first<<min(attempt-1, 30), p.last)
}

// attempts posts an invocation until it succeeds or the function's policy is used up. All attempts have one
// invocation id.
func (h *Host) attempts(ctx context.Context, f function, inv Invocation) Result {
	id := newID()
	if f.retry != nil {
		inv.MaxRetry = f.retry.most
	}
	for attempt := 0; ; attempt++ {
		result := Result{InvocationID: id, Attempts: attempt + 1}
		if attempt > 0 {
			inv.Retry++
		}
		body, err := inv.body(f, time.Now())
		if err != nil {
			result.Why = err.Error()
			return result
		}
		result = h.invoke(ctx, result, f, body)
		if result.Succeeded || f.retry == nil || attempt == f.retry.most || ctx.Err() != nil {
			return result
		}
		select {
		case <-time.After(f.retry.delay(attempt + 1)):
		case <-ctx.Done():
			return result
		}
	}
}
