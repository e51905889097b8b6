package feed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

const (
	// unmarkedPause is how long an event whose row did not take its mark is left alone. Then it is sent again: nothing
	// else shows whether the row takes its mark now.
	unmarkedPause = time.Minute
	// mostUnmarked is how many are left alone while others go on. With more, it is the whole table: nothing is sent.
	mostUnmarked = 1000
)

// unmarked are the events of a process whose rows did not take their marks. They stand before all others, and would be
// sent again and again in their place.
type unmarked struct {
	mu sync.Mutex
	of map[event.Ref]aside
}

// aside is a row that is left alone.
type aside struct {
	until time.Time
	bytes int
}

// add leaves rows alone, and reports whether they are too many for others to go on.
func (u *unmarked) add(rows map[event.Ref]int) (full bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget()
	if u.of == nil {
		u.of = map[event.Ref]aside{}
	}
	for r, bytes := range rows {
		u.of[r] = aside{time.Now().Add(unmarkedPause), bytes}
	}
	return len(u.of) >= mostUnmarked
}

// forget forgets rows whose pause is over.
func (u *unmarked) forget() {
	now := time.Now()
	maps.DeleteFunc(u.of, func(_ event.Ref, a aside) bool { return !now.Before(a.until) })
}

// alone reports whether a row is left alone.
func (u *unmarked) alone(r event.Ref) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	a, known := u.of[r]
	return known && time.Now().Before(a.until)
}

// load is what a fetch may show of rows that are left alone.
func (u *unmarked) load() (rows, bytes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget()
	for _, a := range u.of {
		bytes += a.bytes
	}
	return len(u.of), bytes
}

// setAside takes out of the error of a settlement what concerns accepted events whose rows did not take their marks.
// They are left alone for a while, the session goes on unless they are too many, and its end tells of them.
func (s *session) setAside(err error, accepted []event.Ref) error {
	var rows *event.UnmarkedError
	if !errors.As(err, &rows) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sizes := map[event.Ref]int{}
	for _, r := range rows.Refs {
		if !slices.Contains(accepted, r) { // what comes after it has to wait for it
			return err
		}
		sizes[r] = s.inFlight.events[r].bytes
	}
	err = fmt.Errorf("marking events: %w. Each is sent again after %s", rows, unmarkedPause)
	s.unmarked = &poller.Fault{Event: poller.CommitFailed, Err: err}
	if s.shared.unmarked.add(sizes) {
		return s.unmarked
	}
	return nil
}

// checkUnmarked returns an error while so many rows are left alone that nothing is sent.
func (s *session) checkUnmarked() error {
	if n, _ := s.shared.unmarked.load(); n >= mostUnmarked {
		return &poller.Fault{Event: poller.CommitFailed, Err: fmt.Errorf("%d events or more were sent, and their rows "+
			"did not take the mark: nothing is sent for up to %s", mostUnmarked, unmarkedPause)}
	}
	return nil
}
