package leased_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestInstancesShare: three instances, of which one after the other is cut off, a destination that refuses a key for a
// while, and a writer: every key ends on its newest state, in order, and what nobody was cut off from comes once.
func TestInstancesShare(t *testing.T) {
	quick.Skip(t)
	for seed := range quick.Runs[uint64](8, 1) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := newServer()
			var mu sync.Mutex
			last, inFlight := map[string]string{}, map[string]bool{}
			versions := map[string]int64{}
			quiet := false
			deliver := func(e change.Event) error {
				key := string(e.Key)
				mu.Lock()
				if inFlight[key] {
					t.Errorf("seed %d: key %s is in flight twice", seed, key)
				}
				inFlight[key] = true
				wait, bad := time.Duration(r.IntN(2000))*time.Millisecond, !quiet && key == `{"id":3}` && r.IntN(2) == 0
				mu.Unlock()
				time.Sleep(wait)
				mu.Lock()
				defer mu.Unlock()
				delete(inFlight, key)
				if bad {
					return errBad
				}
				var at struct{ Value int64 }
				if err := json.Unmarshal(e.Cursor, &at); err != nil || at.Value < versions[key] {
					t.Errorf("seed %d: key %s at version %d after %d: %v", seed, key, at.Value, versions[key], err)
				}
				versions[key], last[key] = at.Value, told(&e)
				return nil
			}
			isCut := func(in *instance) bool {
				m.mu.Lock()
				defer m.mu.Unlock()
				return in.cut
			}
			draw := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n)
			}
			run := func(in *instance, until time.Time, done chan struct{}) {
				for time.Now().Before(until) && !isCut(in) {
					in.relay.Tick(t.Context())
					time.Sleep(time.Second)
				}
				close(done)
			}
			var ended []chan struct{}
			for round := range 3 {
				end := time.Now().Add(3 * time.Minute)
				var all []*instance
				for range 3 {
					in, done := m.start(t, deliver), make(chan struct{})
					all, ended = append(all, in), append(ended, done)
					go run(in, end, done)
				}
				for range 60 {
					id := draw(10)
					m.mu.Lock()
					op := "i"
					if _, there := m.Rows[int64(id)]; there {
						op = []string{"u", "u", "d"}[draw(3)]
					}
					m.mu.Unlock()
					m.commit(fmt.Sprintf("%s %d %d", op, id, m.Current+1))
					time.Sleep(time.Duration(draw(4000)) * time.Millisecond)
				}
				m.cut(all[round], true)
				for _, done := range ended {
					<-done
				}
			}
			quiet = true
			in := m.start(t, deliver)
			for range 5 {
				in.tick()
				time.Sleep(time.Minute)
			}
			for id := range int64(10) {
				key, want := fmt.Sprintf(`{"id":%d}`, id), fmt.Sprintf("delete %d", id)
				if v, there := m.Rows[id]; there {
					want = fmt.Sprintf("%d=%d", id, v)
				}
				if id == 3 && m.own[id].dead {
					continue // it was refused as often as it may be
				}
				if got := last[key]; !strings.HasSuffix(got, want) && (got != "" || m.States[id] != nil) {
					t.Errorf("seed %d: key %d ended as %q, want %q", seed, id, got, want)
				}
			}
			if m.from != m.Current || len(m.leases) != 0 {
				t.Errorf("seed %d: LastSyncVersion %d of %d, %d leases", seed, m.from, m.Current, len(m.leases))
			}
		})
	}
}

// TestAStopGivesBack: an instance is stopped in mid-batch. What was accepted is processed, and another takes the rest
// at once, instead of when leases have lapsed; nothing comes twice.
func TestAStopGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		m.commit("i 1 1", "i 2 1", "i 3 1", "i 4 1", "i 5 1")
		ctx, stop := context.WithCancel(t.Context())
		first, sent := m.start(t, nil), 0
		one := func(c *poller.Config) { c.RequestEvents, c.Concurrency = 1, 1 }
		relay := pollertest.Relay(t, first.feed, pollertest.Func(func(_ context.Context, d change.Delivery) error {
			if sent += len(d.Events); sent == 2 {
				stop()
			}
			time.Sleep(time.Second)
			return nil
		}), one)
		relay.Tick(ctx)
		if sent != 2 {
			t.Fatalf("%d were sent: it was meant to end in the middle", sent)
		}
		begun := time.Now()
		m.start(t, nil).want("insert 3=1, insert 4=1, insert 5=1")
		if took := time.Since(begun); took >= m.ttl || m.from != m.Current {
			t.Errorf("the rest came after %s, LastSyncVersion %d of %d", took, m.from, m.Current)
		}
	})
}
