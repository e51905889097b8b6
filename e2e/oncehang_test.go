package e2e

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestRunOnceGoesRoundARowThatHangs: the receiver never answers a request that holds one row. To find it among those of
// a request takes longer than a tick has. A process that lives for one tick would begin the search anew each time.
func TestRunOnceGoesRoundARowThatHangs(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 60)
	s = s.with(settings{"pollers__orders__output__timeout": "2s", "pollers__orders__tick_budget": "2400ms",
		"pollers__orders__output__retries": "1"})
	to.decide(func(_ http.ResponseWriter, events []cloudEvent) bool {
		hangs := slices.ContainsFunc(events, func(e cloudEvent) bool { return e.Data["id"] == 37.0 })
		if hangs {
			to.mu.Unlock()
			wait(t.Context(), 6*time.Second) // longer than the sender waits
			to.mu.Lock()
		}
		return !hangs
	})
	dir := t.TempDir()
	if out, errs, err := command(t, dir, s, "run", "--once"); exitCode(t, err) != 1 {
		t.Errorf("a tick whose requests hang ended well: %s", out+errs)
	}
	// The event that shows that the destination accepts others comes after the one that hangs: where the tick ends before
	// the verdict, it is sent once more.
	if n, repeated := to.count(); n != 59 || repeated > 1 {
		t.Errorf("%d events arrived, %d of them repeated: want all but the one that hangs", n, repeated)
	}
}
