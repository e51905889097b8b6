package leased_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/leased"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestWorkers: the work is for as many instances as the binding's scaler would start, one for each
// Sql_Trigger_MaxChangesPerWorker; none before the tables are there.
func TestWorkers(t *testing.T) {
	for _, v := range []struct{ changes, perWorker, workers int }{{0, 1000, 0}, {100, 1000, 1}, {1080, 100, 11},
		{4500, 1000, 5}, {6000, 1000, 6}, {500, 1, leased.MostWorkers}} {
		m := newServer()
		in := m.start(t, nil)
		if numbers, of, err := in.feed.Workers(t.Context(), v.perWorker); err != nil || of != 0 || numbers != nil {
			t.Errorf("without tables: %v of %d, %v", numbers, of, err)
		}
		m.make(false)
		for n := range v.changes {
			m.commit(fmt.Sprintf("i %d 1", n+1))
		}
		numbers, of, err := in.feed.Workers(t.Context(), v.perWorker)
		if err != nil || of != v.workers || len(numbers) != v.workers || of > 0 && numbers[of-1] != of-1 {
			t.Errorf("%d changes: %v of %d, %v", v.changes, numbers, of, err)
		}
	}
}

// TestWorkersShare: workers of one process and of another share a backlog: each change is delivered once, and none of
// them has all.
func TestWorkersShare(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		const changes = 3000
		for n := range changes {
			m.commit(fmt.Sprintf("i %d 1", n+1))
		}
		var mu sync.Mutex
		seen := map[string]int{}
		by := make([]int, 4)
		var all sync.WaitGroup
		for process := range 2 {
			in := m.start(t, nil)
			for worker := range 2 {
				n := 2*process + worker
				relay := pollertest.Relay(t, in.feed, pollertest.Func((&instance{T: t, to: func(e change.Event) error {
					time.Sleep(time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					seen[string(e.Key)]++
					by[n]++
					return nil
				}}).deliver), pollertest.Hundred)
				all.Go(func() {
					if r := relay.Tick(t.Context()); r.Event != poller.TickComplete || r.Err != nil {
						t.Errorf("worker %d: %s %v", n, r.Event, r.Err)
					}
				})
			}
		}
		all.Wait()
		for key, n := range seen {
			if n > 1 {
				t.Errorf("%s came %d times", key, n)
			}
		}
		if len(seen) != changes || slices.Min(by) == 0 || m.from != m.Current {
			t.Errorf("%d of %d, by worker %v; LastSyncVersion %d of %d", len(seen), changes, by, m.from, m.Current)
		}
	})
}
