package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// sink is an HTTP receiver of CloudEvents that remembers what it accepted, and checks the order per key.
type sink struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	accepted map[string]int            // times, by event id
	rows     map[string]map[string]any // the row, by event id
	order    map[string][]string       // event ids in order of arrival, by subject
	sequence []map[string]any          // every accepted row, in order of arrival
	requests int
	// answer, where set by decide, comes before anything is accepted; false means that it has answered itself.
	answer func(w http.ResponseWriter, events []cloudEvent) bool
}

type cloudEvent struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Source  string         `json:"source"`
	Subject string         `json:"subject"`
	Data    map[string]any `json:"data"`
	// Backfill is the name of the backfill that sent it from a position of its own.
	Backfill string `json:"-"`
}

func newSink(t *testing.T) *sink {
	s := &sink{t: t, accepted: map[string]int{}, rows: map[string]map[string]any{}, order: map[string][]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the sender was killed in the middle: nothing is accepted
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var events []cloudEvent
	if !bytes.HasPrefix(body, []byte("[")) { // output__batch=1
		body = append(append([]byte("["), body...), ']')
	}
	if err := json.Unmarshal(body, &events); err != nil {
		s.t.Errorf("not CloudEvents: %v: %s", err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for i := range events {
		events[i].Backfill = r.Header.Get("Rowrelay-Backfill")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.answer != nil && !s.answer(w, events) {
		return
	}
	keys := map[string]bool{}
	for _, e := range events {
		if keys[e.Subject] {
			s.t.Errorf("two events of key %s in one request", e.Subject)
		}
		keys[e.Subject] = true
		s.accepted[e.ID]++
		s.rows[e.ID] = e.Data
		s.sequence = append(s.sequence, e.Data)
		s.order[e.Subject] = append(s.order[e.Subject], e.ID)
	}
	w.WriteHeader(http.StatusOK)
}

// decide sets what comes before anything is accepted: see answer. It is called with the sink locked.
func (s *sink) decide(answer func(w http.ResponseWriter, events []cloudEvent) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// count returns the number of different events, and of those that came more than once.
func (s *sink) count() (distinct, repeated int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.accepted {
		if n > 1 {
			repeated++
		}
	}
	return len(s.accepted), repeated
}

// column returns how often each value of a column of the rows was accepted.
func (s *sink) column(name string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]int{}
	for id, row := range s.rows {
		seen[fmt.Sprint(row[name])] += s.accepted[id]
	}
	return seen
}

// assertOrder fails when, for a key, an event was first accepted after a later one: version grows with every change of
// a row.
func (s *sink) assertOrder(version string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for subject, ids := range s.order {
		seen := map[string]bool{}
		newest := -1.0
		for _, id := range ids {
			v, ok := s.rows[id][version].(float64)
			if !ok {
				s.t.Fatalf("%s of %s is %v", version, subject, s.rows[id][version])
			}
			if v < newest && !seen[id] {
				s.t.Errorf("key %s: version %v first arrived after version %v", subject, v, newest)
			}
			seen[id] = true
			newest = max(newest, v)
		}
	}
}
