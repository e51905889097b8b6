package checkpointed

import "time"

// throttle bounds the rows per second of a backfill, across the ticks of this process.
type throttle struct {
	id   string
	next time.Time
}

// wait is the time until the next chunk may be fetched; 0 or less means now.
func (t *throttle) wait(id string) time.Duration {
	if t.id != id {
		return 0
	}
	return time.Until(t.next)
}

// spend counts the rows of a chunk.
func (t *throttle) spend(id string, rows, perSecond int) {
	if now := time.Now(); t.id != id || t.next.Before(now) {
		t.id, t.next = id, now
	}
	if perSecond > 0 {
		t.next = t.next.Add(time.Duration(rows) * time.Second / time.Duration(perSecond))
	}
}
