package clock

import (
	"context"
	"time"
)

// Sleep waits for d. It returns the cause of ctx's end where that comes first: also where ctx has ended already and
// there is nothing to wait for, so that a loop that sleeps ends with ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
