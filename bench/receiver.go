package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// receiver is the HTTP server that events are sent to. It is a process of its own, as every contender's receiver is in
// life: beside a library that runs in this process it would be called without a switch between processes.
type receiver struct {
	think time.Duration // for each request

	mu          sync.Mutex
	seen        map[string]bool // ids; a repeated one counts once
	first, last time.Time
}

// arrivals is what GET answers.
type arrivals struct {
	Events   int           `json:"events"`
	Requests int           `json:"requests"`
	Took     time.Duration `json:"took"` // between the first and the last
}

// ServeHTTP counts the events of a POST, a payload or an array of payloads, and tells the count.
func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(arrivals{Events: len(s.seen), Took: s.last.Sub(s.first)})
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	type event struct {
		ID string `json:"id"`
	}
	var events []event
	if strings.HasPrefix(string(body), "[") {
		err = json.Unmarshal(body, &events)
	} else {
		events = make([]event, 1)
		err = json.Unmarshal(body, &events[0])
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	time.Sleep(s.think)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		s.first = now
	}
	for _, e := range events {
		s.seen[e.ID] = true
	}
	s.last = now
}

// started is a receiver that runs.
type started struct {
	url string
	cmd *exec.Cmd
	in  io.Closer
}

func start(cmd *exec.Cmd) (*started, error) {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, in.Close(), cmd.Wait())
	}
	return &started{url: strings.TrimSpace(url), cmd: cmd, in: in}, nil
}

func (s *started) stop() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

func (s *started) arrivals(ctx context.Context) (a arrivals, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return a, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, err
	}
	defer func() { _ = answer.Body.Close() }()
	return a, json.NewDecoder(answer.Body).Decode(&a)
}
