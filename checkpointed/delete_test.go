package checkpointed

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// TestADeleteIsRetried: where the source knows of deletes, one that the destination refused comes again, and a row that
// is deleted while it waits is delivered as a delete. Nothing is taken for gone.
func TestADeleteIsRetried(t *testing.T) {
	for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderNone, poller.OrderSource} {
		for name, deleteFirst := range map[string]bool{"a delete is refused": true, "a refused row is deleted": false} {
			t.Run(string(ordering)+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShop()
					s.deletes = true
					s.fill(1, 4)
					p := newProcess(t, nil, s, func(c *Config) { c.Ordering = ordering })
					refuses := true
					var deleted []int
					p.verdict = func(e *change.Event, _ change.Kind) poller.Outcome {
						if idOf(e) == 3 && refuses && (e.Op == change.Delete) == deleteFirst {
							return poller.Rejected
						}
						if e.Op == change.Delete {
							deleted = append(deleted, idOf(e))
						}
						return poller.Accepted
					}
					p.tick()
					s.remove(3)
					p.tick()
					refuses = false
					gone := 0
					for range 3 {
						time.Sleep(time.Minute)
						gone += p.tick().Gone
					}
					if gone != 0 || len(p.parked()) != 0 || !slices.Contains(deleted, 3) || len(p.deadLetters.letters) != 0 {
						t.Errorf("%d gone, deleted %v, parked %+v", gone, deleted, p.parked())
					}
				})
			})
		}
	}
}
