package tracking_test

import (
	"context"
	"sync"
	"time"
)

// holds are what transactions run that stay open for a while. SQLite has one writer at a time.
var holds = map[string]string{"postgres": "SELECT pg_sleep(0.3)", "mysql": "DO SLEEP(0.3)"}

// siege has writers at work for five seconds, processes that end in the middle of a tick after a life that depends on
// how many ended before, and a destination that refuses a key meanwhile. It calls after when one has ended.
func (r *rig) siege(s settings, writers int, life func(killed int) time.Duration, after func()) {
	r.Helper()
	r.to.refuseKey("7")
	ctx, end := context.WithTimeout(r.Context(), 5*time.Second)
	defer end()
	at := r.writers(ctx, writers)
	killed := 0
	for ; ctx.Err() == nil; killed++ {
		alive, die := context.WithTimeout(ctx, life(killed))
		i := r.instance(s)
		stop := context.AfterFunc(alive, i.kill)
		for alive.Err() == nil {
			i.Tick(alive)
		}
		stop()
		i.kill()
		die()
		after()
	}
	at.Wait()
	r.to.set(nil, false)
	r.Logf("%d instances killed", killed)
}

// writers do transactions until ctx ends.
func (r *rig) writers(ctx context.Context, n int) *sync.WaitGroup {
	var writers sync.WaitGroup
	for range n {
		writers.Go(func() {
			for ctx.Err() == nil {
				r.transaction(ctx)
			}
		})
	}
	return &writers
}

// verdict is what a siege has left beside what is in the table.
func (r *rig) verdict() {
	r.Helper()
	if n := len(r.to.inverted); n > 0 {
		r.Errorf("INVERTED %d: %v", n, r.to.inverted[:min(5, n)])
	}
	if len(r.letters) > 0 {
		r.Errorf("%d dead letters: %+v", len(r.letters), r.letters[0])
	}
}
