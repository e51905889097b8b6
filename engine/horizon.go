package engine

import (
	"sync"
	"time"
)

// Horizon is the database's clock, and what of its open transactions this user is shown.
type Horizon struct {
	// Now is the database's clock.
	Now time.Time
	// Shown says that the server shows open write transactions of all sessions to this user.
	Shown bool
	// Oldest is when the oldest open write transaction began; zero where there is none, or where it is not shown.
	Oldest time.Time
	// Replayed is when the newest transaction was committed that a replica has replayed: what was committed later is not
	// seen yet, however late it is by the clock. Zero on a primary, and where it is not known.
	Replayed time.Time
	// By names its session for people: "pid 4711 (app importer, user batch)"; "" where there is none.
	By string
}

// Looks is what one process was last shown of a server's open transactions, for a server that shows nothing new to who
// asks too often. It is safe for concurrent use.
type Looks struct {
	mu    sync.Mutex
	asked time.Time // by this machine's clock
	last  Horizon
}

// Within returns what was shown last, where the server was asked less than so long ago. Whoever began since then may be
// open as well: Oldest is not after that answer. Otherwise it returns false, and the caller asks the server.
func (l *Looks) Within(most time.Duration) (Horizon, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) >= most || l.last.Now.IsZero() {
		l.asked = time.Now()
		return Horizon{}, false
	}
	h := l.last
	if h.Shown && (h.Oldest.IsZero() || h.Oldest.After(h.Now)) {
		h.Oldest, h.By = h.Now, ""
	}
	return h, true
}

// Keep notes an answer of the server.
func (l *Looks) Keep(h Horizon) {
	l.mu.Lock()
	l.last = h
	l.mu.Unlock()
}

// SessionOf names a session of the database for people: "pid 4711 (app importer, user batch, host 10.0.0.5)". It never
// holds the text of a statement, which may hold values. Empty parts are left out.
func SessionOf(id string, named ...[2]string) string {
	text, glue := id, " ("
	for _, part := range named {
		if part[1] != "" {
			text += glue + part[0] + " " + part[1]
			glue = ", "
		}
	}
	if glue == ", " {
		text += ")"
	}
	return text
}
