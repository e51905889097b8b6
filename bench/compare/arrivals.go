package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// event is one that was committed. One of the same aggregate with a higher number was begun after that.
type event struct {
	aggregate int
	committed time.Time
}

// receiver notes when each event arrived, in the order in which it arrived.
type receiver struct {
	url   string
	close func() error
	think time.Duration

	mu      sync.Mutex
	arrived []arrival
	seen    map[int]bool
}

type arrival struct {
	n  int
	at time.Time
}

func newReceiver(think time.Duration) (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + listener.Addr().String(), think: think, seen: map[int]bool{}}
	server := &http.Server{Handler: r}
	go func() { _ = server.Serve(listener) }()
	r.close = server.Close
	return r, nil
}

// ServeHTTP takes one event, or an array of them: any JSON object with the member n.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if body = bytes.TrimSpace(body); !bytes.HasPrefix(body, []byte("[")) {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	type numbered struct {
		N *int `json:"n"`
	}
	var events []numbered
	if err := json.Unmarshal(body, &events); err != nil ||
		slices.ContainsFunc(events, func(e numbered) bool { return e.N == nil }) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	time.Sleep(r.think)
	now := time.Now()
	r.mu.Lock()
	for _, e := range events {
		r.arrived = append(r.arrived, arrival{*e.N, now})
		r.seen[*e.N] = true
	}
	r.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// count is how many different events have arrived, and how many with those that came again.
func (r *receiver) count() (different, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen), len(r.arrived)
}

// tally is what became of the events of one phase.
type tally struct {
	events, lost, duplicated, inverted int
	p50, p99                           time.Duration // from the commit to the first arrival
	took                               time.Duration // between the first and the last arrival
	still                              time.Duration // the longest time between two arrivals
}

// judge compares the events with the numbers first to end with what arrived. Inverted is an event that arrived for the
// first time after a later one of its aggregate.
func (r *receiver) judge(events map[int]event, first, end int) tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	var t tally
	seen, newest := map[int]bool{}, map[int]int{}
	var waits []time.Duration
	var begun time.Time
	for _, a := range r.arrived {
		e, written := events[a.n]
		if a.n < first || a.n >= end || !written {
			continue
		}
		if seen[a.n] {
			t.duplicated++
			continue
		}
		seen[a.n] = true
		if begun.IsZero() {
			begun = a.at
		}
		t.still = max(t.still, a.at.Sub(begun)-t.took)
		t.took = a.at.Sub(begun)
		if a.n < newest[e.aggregate] {
			t.inverted++
		}
		newest[e.aggregate] = max(newest[e.aggregate], a.n)
		waits = append(waits, max(0, a.at.Sub(e.committed)))
	}
	for n := range events {
		if n >= first && n < end {
			t.events++
		}
	}
	t.lost = t.events - len(seen)
	if slices.Sort(waits); len(waits) > 0 {
		t.p50, t.p99 = waits[len(waits)/2], waits[len(waits)*99/100]
	}
	return t
}
