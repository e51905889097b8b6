package source

import (
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

// A statement that leaves rows out goes through so many times the rows of a page, and so many at least: it must end in
// time, and live rows take turns with it.
const (
	recentRows  = 4
	recentLeast = 1000
)

// shown is what was shown up to now.
func (c *Cursor) shown() shownWriters {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writers
}

// number completes a page by what its server says of writers; before is what was shown before the page was read.
// Sessions learn how far transactions have ended each on its own, one later than another.
func (c *Cursor) number(page *change.Page, events []change.Event, server *engine.Server, before shownWriters) {
	writers := server.Writers
	for i := range events {
		events[i].Writer = writers.Of(uint32(events[i].Writer)) //nolint:gosec // as the column gave it
	}
	if writers.Next == 0 || page.Incarnation == "" || page.Table == "" {
		return
	}
	page.Numbers, page.Ended = page.Incarnation+" "+page.Table, writers.Ended
	if before.numbers == page.Numbers {
		page.Ended = max(page.Ended, before.Ended)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writers.numbers != page.Numbers {
		c.writers = shownWriters{numbers: page.Numbers}
	}
	c.writers.Next, c.writers.Ended = max(c.writers.Next, writers.Next), max(c.writers.Ended, page.Ended)
}

// leaveOut takes the row from the end of a page that only shows how far was read. Whether there are more is not known
// before that is the end of the range, or before a page that has none.
func leaveOut(page *change.Page, since uint64, end change.Cursor) {
	n := len(page.Events)
	if n == 0 {
		return
	}
	last := &page.Events[n-1]
	page.More = !last.Position().Equal(end)
	if last.Writer != 0 && last.Writer < since {
		page.To, page.Events = last.Position(), page.Events[:n-1]
	}
}
