package engine

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Looks is what one process was last shown of a server's open transactions, for a server that shows nothing new while
// it is asked often, whoever asks. It is safe for concurrent use.
type Looks struct {
	mu    sync.Mutex
	asked time.Time      // by this machine's clock
	pause time.Duration  // until the server is asked again
	tries int            // for a first list that is new
	last  change.Horizon // what it showed; Now is when that was new for certain, and zero before that
}

// AskLess is what shows them where a Horizon is Crowded.
const AskLess = "let whoever reads the server's list of transactions (information_schema.INNODB_TRX) many times a " +
	"second read it less often: while they do, the server makes no new one"

// AskPrimary is what shows them where they are open on another server (Horizon.Elsewhere).
const AskPrimary = "connect to the primary"

// TrackPrimary is what of change tracking is not seen there, on MySQL and MariaDB.
const TrackPrimary = "rows that come by replication fire no trigger on this server: their changes are seen only where the change " +
	"table comes with them, because rowrelay track install ran on the server where they are written"

const (
	// longestPause is how rarely the server is asked that others ask too often.
	longestPause = 2 * time.Second
	// firstTries is how often the server is asked for a first list before anybody is told that it shows none.
	firstTries = 8
)

// Within returns what was shown last, where the server was asked just now. Otherwise it returns false, and the caller
// asks the server. least is how long the server shows the same.
func (l *Looks) Within(least time.Duration) (change.Horizon, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.last.Now.IsZero() && l.tries < firstTries
	if first || time.Since(l.asked) >= max(least, l.pause) {
		l.asked = time.Now()
		return change.Horizon{}, false
	}
	return l.since(), true
}

// Saw notes an answer of the server, and returns what it says. A new one holds when it was asked for. One that may be
// of an earlier time (others ask often, too) says what was open at some moment since the last new one; then the next
// pause is longer, and as long as chance will have it, so that several processes leave room for each other. Without a
// new one before, nothing is shown; again says that the caller is to wait a little and ask once more.
func (l *Looks) Saw(h change.Horizon, isNew bool) (seen change.Horizon, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isNew {
		l.last, l.pause = h, 0
		return h, false
	}
	l.pause = min(max(2*l.pause, 200*time.Millisecond), longestPause)
	l.pause = l.pause/2 + rand.N(l.pause/2) //nolint:gosec // nothing secret
	if l.last.Now.IsZero() {
		l.tries++
		return l.since(), l.tries < firstTries
	}
	l.last.Oldest, l.last.By = h.Oldest, h.By
	return l.since(), false
}

// since is what was shown last. Whoever began since then may be open as well: Oldest is not after that time.
func (l *Looks) since() change.Horizon {
	h := l.last
	h.Crowded = h.Now.IsZero()
	if h.Shown && (h.Oldest.IsZero() || h.Oldest.After(h.Now)) {
		h.Oldest, h.By = h.Now, ""
	}
	return h
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
