package snapshot

import (
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Idling bounds how often the position of an idle table moves: each move is a write. It need not move at all for the
// index's sake, whose range holds this table's rows only. But rows that source__where leaves out, and the dead versions
// of rows, are looked at again until the window is closed. It is safe for concurrent use.
type Idling struct {
	// Every is how often it may move: IdleEvery.
	Every time.Duration

	mu    sync.Mutex
	since map[string]emptySince // position → when it was first found without rows
}

// emptySince is when a position was first found without rows, and the server's counter of transactions then.
type emptySince struct {
	at   time.Time
	xmax uint64
}

const (
	// IdleEvery is also longer than the server takes to write to disk which ids it has given: three times
	// wal_writer_delay, which is 10 s at most.
	IdleEvery = time.Minute
	// idlePositions is how many positions are remembered: as many as a poller has outputs, with room to spare.
	idlePositions = 16
)

// Due returns the position that is worth a write: that of what the server had come to when the window was first found
// empty, once that is a minute ago. Nil while it is not. now found no row either: what of the older transactions has
// ended meanwhile has none in this table.
func (i *Idling) Due(at change.Cursor, seen, now Snapshot) change.Cursor {
	if now.Equal(seen) {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	first, known := i.since[string(at)]
	switch {
	case known && now.XMax < first.xmax: // the server has crashed, and gives these ids again
	case known && time.Since(first.at) < i.Every:
		return nil
	case known:
		delete(i.since, string(at))
		if to := now.Below(first.xmax); !to.Equal(seen) {
			return After(to)
		}
	}
	if i.since == nil || len(i.since) >= idlePositions {
		i.since = map[string]emptySince{}
	}
	i.since[string(at)] = emptySince{time.Now(), now.XMax}
	return nil
}
