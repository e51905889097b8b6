package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSilenceIsToldAtOnce: a receiver that takes requests and never answers is told by the first of them, and not by
// the end of the tick, which goes on trying for minutes; once, until it has answered.
func TestSilenceIsToldAtOnce(t *testing.T) {
	t.Parallel()
	var hangs atomic.Bool
	hangs.Store(true)
	to := newSink(t)
	to.decide(func(http.ResponseWriter, []cloudEvent) bool {
		if hangs.Load() {
			to.mu.Unlock()
			wait(t.Context(), time.Second) // longer than the sender waits
			to.mu.Lock()
		}
		return !hangs.Load()
	})
	s, db := sqliteShop(t, to.URL, 5)
	p := startRun(t, t.TempDir(), s.with(settings{"pollers__orders__output__timeout": "300ms",
		"pollers__orders__output__retries": "1", "pollers__orders__tick_budget": "60s"}))
	told := func() int { return strings.Count(p.Log(), `"event":"request_unanswered"`) }
	p.Until("the word about the first request", func() bool { return told() > 0 })
	if strings.Contains(p.Log(), "handler_failed") {
		t.Error("the tick had ended by then: this test shows nothing")
	}
	wants(t, p.Log(), `"level":"WARN"`, `"poller":"orders"`)
	p.Until("the tick's end", func() bool { return strings.Contains(p.Log(), "handler_failed") })
	if n := told(); n != 1 {
		t.Errorf("it was told %d times", n)
	}
	hangs.Store(false)
	p.Until("the rows", func() bool { n, _ := to.count(); return n == 5 })
	hangs.Store(true)
	execute(t, db, `INSERT INTO orders (version, status) VALUES (6, 'new')`)
	p.Until("the next silence", func() bool { return told() == 2 })
}
