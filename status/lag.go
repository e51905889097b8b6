package status

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// lagsLong is how long rows may wait before that is more than a busy moment: as in the alert RowrelayBacklog.
const lagsLong = 15 * time.Minute

// follow notes whether live rows wait, and since when: over ticks, until one has seen that none is left. A tick that
// did not see either changes nothing. Of outboxes nothing is noted: their rows say themselves what waits, and each
// instance sees a part.
func (n *Note) follow(r *poller.Report) {
	since := r.Started.UTC()
	if !r.DrainedAt.IsZero() {
		since = r.DrainedAt.UTC()
		n.DrainedAt, n.WaitingSince = &since, nil
	}
	if r.RowsWait && n.WaitingSince == nil {
		n.WaitingSince = &since
	}
}

// joinLag adds what an older note knows, mostly another instance's: rows wait since the first of the times after
// which no instance has seen that none is left.
func (n *Note) joinLag(older *Note) {
	if before(n.DrainedAt, older.DrainedAt) {
		n.DrainedAt = older.DrainedAt
	}
	var since *time.Time
	for _, t := range []*time.Time{n.WaitingSince, older.WaitingSince} {
		if t != nil && !before(t, n.DrainedAt) && (since == nil || t.Before(*since)) {
			since = t
		}
	}
	n.WaitingSince = since
}

// catchesUp reports whether nothing waits any more where the stored note says that rows do.
func (n *Note) catchesUp(stored *Note) bool {
	return stored.WaitingSince != nil && n.WaitingSince == nil
}

// fitLag forgets times that are after limit.
func (n *Note) fitLag(limit time.Time) {
	if before(&limit, n.WaitingSince) {
		n.WaitingSince = nil
	}
	if before(&limit, n.DrainedAt) {
		n.DrainedAt = nil
	}
}

// lag notes how old the newest delivered row was. It is not known of a cursor that is no time. While nothing is
// delivered and rows wait, that row grows older: since is when the note before was left. A tick that failed without
// having seen whether any waits has seen no 0 either, which says that none does.
func (n *Note) lag(r *poller.Report, since time.Time) {
	seconds := r.Lag.Seconds()
	known := n.Lag != nil && *n.Lag > 0
	switch {
	case r.Lag > 0, r.Lag == 0 && !r.Failed(), r.Lag == 0 && !r.DrainedAt.IsZero():
		n.Lag = &seconds
	case r.Lag < 0 || !known:
		n.Lag = nil
	case n.WaitingSince != nil:
		n.Lag = grown(n.Lag, n.At.Sub(since))
	}
}

// lagAt is the lag at a moment after the note: while rows wait, the newest delivered one grows older.
func (n *Note) lagAt(now time.Time) *float64 {
	if n.Lag == nil || *n.Lag == 0 || n.WaitingSince == nil {
		return n.Lag
	}
	return grown(n.Lag, now.Add(-n.ahead).Sub(n.At))
}

func grown(seconds *float64, by time.Duration) *float64 {
	more := *seconds + max(by, 0).Seconds()
	return &more
}

// lagging says that rows wait, and have done so for long; "" where they do not.
func lagging(o *Output, now time.Time) string {
	if o.WaitingSince == nil || now.Sub(*o.WaitingSince) <= lagsLong {
		return ""
	}
	return fmt.Sprintf("Rows have been waiting since %s: they come faster than they are delivered, or a backlog is worked off", stamp(*o.WaitingSince))
}
