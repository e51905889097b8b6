package handler_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

// TestManyPollersOfOneSchedule: the ticks of pollers whose schedules fire together begin within a second, and not
// together; a few pollers wait for nothing.
func TestManyPollersOfOneSchedule(t *testing.T) {
	for n, most := range map[int]int{1: 1, 16: 16, 200: 1, 1000: 2} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				begun := map[int64]int{} // ticks, by the millisecond
				tick := runner(func(context.Context) []poller.Report {
					mu.Lock()
					defer mu.Unlock()
					begun[time.Now().UnixMilli()]++
					return []poller.Report{{Event: poller.FetchEmpty, Parked: -1, NullCursors: -1}}
				})
				cfg := handler.Config{Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry()}
				for i := range n {
					cfg.Pollers = append(cfg.Pollers, handler.Poller{Name: fmt.Sprintf("P%d", i), Runner: tick})
				}
				h := handler.New(t.Context(), cfg)
				start := time.Now()
				var all sync.WaitGroup
				for _, p := range cfg.Pollers {
					all.Go(func() {
						if _, err := h.Tick(t.Context(), p.Name, handler.Invocation{}); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if took := time.Since(start); took >= time.Second {
					t.Errorf("the last tick began after %s", took)
				}
				for at, ticks := range begun {
					if ticks > most {
						t.Errorf("%d ticks began %d ms after the schedule", ticks, at-start.UnixMilli())
					}
				}
			})
		})
	}
}
