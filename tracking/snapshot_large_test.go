package tracking_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// snapshotRows is how many rows the table has: ROWRELAY_SNAPSHOT_ROWS, or a few.
func snapshotRows(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ROWRELAY_SNAPSHOT_ROWS")
	if text == "" {
		return 6000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSnapshotOfATable reads a table whole while four writers change all of it, and ends the process three times in the
// middle: the receiver has what the table has, and no key an older state after a newer. make snapshot runs it on a
// million rows of each engine.
func TestSnapshotOfATable(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	rows := snapshotRows(t)
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			var fill []string
			for n := 0; n < rows; n += 1000 {
				values := make([]string, 0, 1000)
				for id := n + 1; id <= min(n+1000, rows); id++ {
					values = append(values, fmt.Sprintf("(%d, 1)", id))
				}
				fill = append(fill, "INSERT INTO orders VALUES "+strings.Join(values, ", "))
			}
			r := newRig(t, name, fill...)
			r.keys = rows
			ctx, end := context.WithCancel(t.Context())
			defer end()
			var writers sync.WaitGroup
			var written atomic.Int64
			for range 4 {
				writers.Go(func() {
					for ctx.Err() == nil {
						if r.transaction(ctx) {
							written.Add(1)
						}
					}
				})
			}
			begun := time.Now()
			s := settings{ttl: 2 * time.Second, delay: 200 * time.Millisecond, maxAttempts: 5, batch: 500, snapshot: true}
			kills := []int{20, 45, 70} // percent of the table
			for alive := true; alive; {
				i := r.instance(s)
				life, die := context.WithCancel(ctx)
				var watch sync.WaitGroup
				watch.Go(func() {
					look := time.NewTicker(10 * time.Millisecond)
					defer look.Stop()
					for life.Err() == nil {
						<-look.C
						if b := r.document().Backfill; b != nil && len(kills) > 0 && int(b.Done)*100 >= kills[0]*rows {
							i.kill()
							die()
						}
					}
				})
				for life.Err() == nil && alive {
					i.Tick(life)
					alive = r.document().Checkpoint.Cursor == nil || r.document().Backfill != nil
				}
				if killed := life.Err() != nil; killed {
					kills, alive = kills[1:], true
				}
				die()
				watch.Wait()
			}
			took := time.Since(begun)
			end()
			writers.Wait()
			last := r.instance(s)
			var differ []string
			for until := time.Now().Add(programtest.Patience); time.Now().Before(until); {
				last.Tick(t.Context())
				if differ = r.differ(); len(differ) == 0 {
					break
				}
			}
			t.Logf("SNAPSHOT %s: %d rows in %s beside %d transactions, %d kills left, %d events, REPEATED %d, LOST %d, INVERTED %d",
				name, rows, took.Round(time.Second), written.Load(), len(kills), len(r.to.seen), r.to.repeated, len(differ),
				len(r.to.inverted))
			if len(differ) > 0 || len(r.to.inverted) > 0 || len(kills) > 0 {
				t.Errorf("LOST %v, INVERTED %v, kills that did not come: %v", differ[:min(5, len(differ))],
					r.to.inverted[:min(5, len(r.to.inverted))], kills)
			}
		})
	}
}
