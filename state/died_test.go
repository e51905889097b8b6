package state_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// marks know when processes have died.
type marks struct {
	own  string
	died map[string]time.Time
}

func (m marks) Own() string { return m.own }

func (m marks) Died(mark string) (time.Duration, bool) {
	at, died := m.died[mark]
	return time.Since(at), died
}

// TestHolderDied: the lease of a process that is known to have died may be taken after a grace, for its last requests;
// that of one of which nothing is known, when it has expired.
func TestHolderDied(t *testing.T) {
	t.Parallel()
	for holder, least := range map[string]time.Duration{"A": 0, "": ttl} {
		bubble(t, func(f *fixture) {
			died := map[string]time.Time{}
			as := func(mark string, store state.Store) *state.Keeper {
				k, err := state.New(state.Config{Store: store, Key: key, Poller: "orders", Owner: "shop/" + mark, TTL: ttl,
					Alive: marks{mark, died}})
				f.must(err)
				return k
			}
			old := f.acquire(as(holder, f.store))
			defer func() {
				_ = old.Release(f.Context()) // a crash: nobody is told
				time.Sleep(2 * ttl)
			}()
			f.store.Crash()
			died["A"] = time.Now()
			next, waited := as("B", f.mem), time.Now()
			var lease *state.Lease
			for lease == nil {
				s, err := next.Load(f.Context())
				f.must(err)
				var held *state.HeldError
				if lease, err = next.Acquire(f.Context(), s); errors.As(err, &held) {
					time.Sleep(held.ExpiresIn)
				} else {
					f.must(err)
				}
			}
			if took := time.Since(waited); took < least+5*time.Second || took > least+6*time.Second {
				f.Errorf("the lease of %q was taken after %s", holder, took)
			}
			if lease.Token() != 2 {
				f.Errorf("token %d", lease.Token())
			}
			f.must(lease.Release(f.Context()))
		})
	}
}
