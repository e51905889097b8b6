package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// chaosSink notes every event that takes effect, in the order in which it does, with what its request said of itself.
type chaosSink struct {
	*httptest.Server
	outage atomic.Int64 // the status to answer; -1: no answer
	late   atomic.Bool  // some requests take effect after their sender has given them up

	mu       sync.Mutex
	arrivals []arrival
	pending  sync.WaitGroup // late effects
}

type arrival struct {
	id, key       string
	version       int64
	token, number uint64
}

func newChaosSink(t *testing.T) *chaosSink {
	s := &chaosSink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.serve(w, r); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(func() {
		s.pending.Wait()
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *chaosSink) serve(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil //nolint:nilerr // the sender was killed in the middle
	}
	switch status := s.outage.Load(); {
	case status > 0:
		w.WriteHeader(int(status))
		return nil
	case status < 0:
		<-r.Context().Done()
		return nil
	}
	var events []cloudEvent
	if err := json.Unmarshal(body, &events); err != nil {
		return fmt.Errorf("not CloudEvents: %w", err)
	}
	token, err := strconv.ParseUint(r.Header.Get("Rowrelay-Fencing-Token"), 10, 64)
	if err != nil {
		return err
	}
	number, err := strconv.ParseUint(r.Header.Get("Rowrelay-Delivery"), 10, 64)
	if err != nil {
		return err
	}
	effect := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range events {
			version, _ := e.Data["version"].(float64) // zero counts as lost
			s.arrivals = append(s.arrivals, arrival{e.ID, fmt.Sprint(e.Data["id"]), int64(version), token, number})
		}
	}
	if s.late.Load() && rand.IntN(4) == 0 {
		s.pending.Go(func() {
			wait(context.Background(), 600*time.Millisecond+rand.N(time.Second))
			effect()
		})
		<-r.Context().Done() // the sender gives up
		return nil
	}
	effect()
	w.WriteHeader(http.StatusOK)
	return nil
}

// taken are the arrivals that a receiver takes: all, or those that the token rule lets through.
func (s *chaosSink) taken(withRule bool) []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !withRule {
		return append([]arrival(nil), s.arrivals...)
	}
	type pair struct{ token, number uint64 }
	highest := map[string]pair{}
	var taken []arrival
	for _, a := range s.arrivals {
		if h := highest[a.key]; a.token < h.token || a.token == h.token && a.number < h.number {
			continue
		}
		highest[a.key] = pair{a.token, a.number}
		taken = append(taken, a)
	}
	return taken
}

func (s *chaosSink) newest(withRule bool) map[string]int64 {
	newest := map[string]int64{}
	for _, a := range s.taken(withRule) {
		newest[a.key] = max(newest[a.key], a.version)
	}
	return newest
}

// count returns the number of different events, of arrivals of events seen before, and of events that first arrived
// after a newer version of their row.
func (s *chaosSink) count(withRule bool) (distinct, duplicated, inverted int) {
	seen, newest := map[string]bool{}, map[string]int64{}
	for _, a := range s.taken(withRule) {
		if seen[a.id] {
			duplicated++
		} else if a.version < newest[a.key] {
			inverted++
		}
		seen[a.id] = true
		newest[a.key] = max(newest[a.key], a.version)
	}
	return len(seen), duplicated, inverted
}
