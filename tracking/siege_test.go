package tracking_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// siegeFor is how long a siege lasts: longer with ROWRELAY_SIEGE_FOR (make siege).
func siegeFor(t *testing.T) time.Duration {
	text := os.Getenv("ROWRELAY_SIEGE_FOR")
	if text == "" {
		return 6 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSiege has writers insert, update, delete, move keys and roll back, over a thousand keys, while of three instances
// one is killed each second and the receiver refuses one key. In the end the receiver has what the table has: the last
// state of each key, and a delete as the last of each that is gone.
func TestSiege(t *testing.T) {
	quick.Skip(t)
	for _, name := range []string{"postgres", "sqlite", "mysql"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name)
			r.to.set(func(e *change.Event) bool { return keyOf(e) == "7" }, false)
			ctx, end := context.WithTimeout(t.Context(), siegeFor(t))
			defer end()
			var writers sync.WaitGroup
			var done, undone atomic.Int64
			for range 16 {
				writers.Go(func() {
					for ctx.Err() == nil {
						if r.transaction(ctx) {
							done.Add(1)
						} else {
							undone.Add(1)
						}
					}
				})
			}
			s := settings{ttl: time.Second, delay: 200 * time.Millisecond, maxAttempts: 1000, batch: 100}
			var killed atomic.Int64
			var instances sync.WaitGroup
			for n := range 3 { // each lives for three seconds, and ends a second after the one before
				instances.Go(func() {
					for age := time.Duration(n+1) * time.Second; ctx.Err() == nil; age = 3 * time.Second {
						life, die := context.WithTimeout(ctx, age)
						i := r.instance(s)
						stop := context.AfterFunc(life, i.kill)
						for life.Err() == nil {
							i.Tick(life)
						}
						stop()
						i.kill()
						die()
						killed.Add(1)
					}
				})
			}
			instances.Wait()
			writers.Wait()
			r.to.set(nil, false)
			last := r.instance(s)
			var differ []string
			for until := time.Now().Add(programtest.Patience); time.Now().Before(until); {
				last.Tick(t.Context())
				if differ = r.differ(); len(differ) == 0 {
					break
				}
			}
			deletes := 0
			for _, is := range r.to.rows {
				if is.op == change.Delete {
					deletes++
				}
			}
			t.Logf("SIEGE %s: %d transactions, %d rolled back; %d instances killed; %d events, %d repeated; %d keys end deleted; "+
				"LOST %d, INVERTED %d", name, done.Load(), undone.Load(), killed.Load(), len(r.to.seen), r.to.repeated, deletes,
				len(differ), len(r.to.inverted))
			if len(differ) > 0 {
				t.Errorf("LOST %d: %v", len(differ), differ[:min(5, len(differ))])
			}
			if n := len(r.to.inverted); n > 0 {
				t.Errorf("INVERTED %d: %v", n, r.to.inverted[:min(5, n)])
			}
			if len(r.letters) > 0 || killed.Load() == 0 || done.Load() == 0 {
				t.Errorf("%d dead letters, %d killed, %d transactions", len(r.letters), killed.Load(), done.Load())
			}
		})
	}
}

// transaction does one to four things to the table, and reports whether they were committed. Of one key v only grows.
func (r *rig) transaction(ctx context.Context) bool {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return false
	}
	defer func() { _ = tx.Rollback() }()
	key := func() int { return 1 + rand.IntN(max(r.keys, 1000)) }
	for range 1 + rand.IntN(4) {
		var text string
		switch rand.IntN(10) {
		case 0, 1, 2:
			text = fmt.Sprintf("INSERT INTO orders VALUES (%d, %d)", key(), time.Now().UnixNano())
		case 3:
			text = fmt.Sprintf("DELETE FROM orders WHERE id = %d", key())
		case 4:
			text = fmt.Sprintf("UPDATE orders SET id = %d, v = %d WHERE id = %d", key(), time.Now().UnixNano(), key())
		case 5:
			low := key()
			text = fmt.Sprintf("UPDATE orders SET v = v + 1 WHERE id BETWEEN %d AND %d", low, low+5)
		default:
			text = fmt.Sprintf("UPDATE orders SET v = v + 1 WHERE id = %d", key())
		}
		if rand.IntN(20) == 0 {
			text = "UPDATE orders SET v = v + 1 WHERE id = 7"
		}
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return false
		}
	}
	if rand.IntN(8) == 0 {
		return false
	}
	return tx.Commit() == nil
}
