package feed

import (
	"maps"
	"sync"
	"time"

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
