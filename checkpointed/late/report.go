package late

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// Report adds what only this component knows.
func (l *Tracker) Report(r *poller.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Remembered, r.Late = l.remembered.len(), l.found
	r.HeldBack, r.HeldBy = l.held()
	r.Warnings = append(r.Warnings, l.warnings...)
	l.warnings = nil
}

// held tells for how long rows have been held back, and by what.
func (l *Tracker) held() (time.Duration, string) {
	if l.mode == Exact {
		return l.peekHeld()
	}
	if l.mode != Overlap || l.heldSince.IsZero() {
		return 0, ""
	}
	by := fmt.Sprintf("late_memory (%d rows) is full", l.Memory)
	if l.blockedBy != "" {
		by += ", and an open transaction is older than late_window: " + l.blockedBy
	}
	return time.Since(l.heldSince), by
}
