package statuspage

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/loopback"
)

// Guard asks for the token of status__token. With an empty token it lets everybody pass: then the listener is on
// loopback, which config sees to.
type Guard struct {
	token   string
	now     func() time.Time
	log     *slog.Logger
	refused *refused

	mu    sync.Mutex
	wrong map[string]attempts // by origin
}

// attempts are the wrong tokens that came from one origin.
type attempts struct {
	n    int
	last time.Time
}

// Wrong tokens are answered ever more slowly, and logged: so a guesser is seen, and a scraper with an old token. The
// bound on origins holds the memory; whoever has more of them than that only gets the first attempts of each.
const (
	freeAttempts = 5
	longestWait  = time.Minute
	forgetAfter  = 15 * time.Minute
)

// NewGuard returns the guard of a token. What it refuses is logged, and who logs in.
func NewGuard(token string, log *slog.Logger) *Guard {
	g := &Guard{token: token, now: time.Now, log: log, wrong: map[string]attempts{}}
	g.refused = newRefused(log, func() time.Time { return g.now() })
	return g
}

// notLocal answers where there is no token and a name that is not this machine's.
func (g *Guard) notLocal(w http.ResponseWriter, r *http.Request) {
	g.refused.tell(r, "there is no token, and it was asked for by a name that is not this machine's")
	http.Error(w, "without status__token this address is for this machine only: ask for it as http://localhost:PORT, or set status__token",
		http.StatusForbidden)
}

// Bearer asks for "Authorization: Bearer <token>" where there is a token, and else for a name of this machine. It is
// for scripts and scrapers.
func (g *Guard) Bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.token == "" {
			if !isLocal(r) {
				g.notLocal(w, r)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if ok, wait := g.bearer(r); !ok {
			refuseBearer(w, wait)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuseBearer answers a script without the right token.
func refuseBearer(w http.ResponseWriter, wait time.Duration) {
	if wait > 0 {
		w.Header().Set("Retry-After", seconds(wait))
		http.Error(w, "too many wrong tokens from this address: try again in "+seconds(wait)+" s", http.StatusTooManyRequests)
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, "send Authorization: Bearer <status__token>", http.StatusUnauthorized)
}

func seconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}

// bearer says whether a request brings the token in its header; wait is over 0 where its address has to wait first. A
// request that brings none is not counted: it guesses nothing.
func (g *Guard) bearer(r *http.Request) (ok bool, wait time.Duration) {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return false, 0
	}
	return g.check(r, token)
}

// check compares a token. The right one is always accepted: behind a proxy or a tunnel everybody has one address, and
// whoever guesses there, or scrapes with an old token, must not lock the others out. So the wait does not stop a
// guesser, whose right guess would pass too; the length of the token does, which config asks for. The right one takes
// nothing off the count either: the next scrape behind the same proxy would forgive every guess.
func (g *Guard) check(r *http.Request, token string) (ok bool, wait time.Duration) {
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(g.token))
	if g.token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
		return true, 0
	}
	defer g.refused.tell(r, "a wrong token") // after the lock
	from := origin(r)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	past := g.wrong[from]
	if wait := past.wait(now); wait > 0 {
		return false, wait
	}
	if now.Sub(past.last) > forgetAfter {
		past.n = 0
	}
	if len(g.wrong) >= mostOrigins {
		g.forget(now)
	}
	g.wrong[from] = attempts{n: past.n + 1, last: now}
	return false, 0
}

// wait doubles with each wrong token after the free ones: 1 s, 2 s, 4 s … a minute.
func (a attempts) wait(now time.Time) time.Duration {
	if a.n < freeAttempts {
		return 0
	}
	pause := longestWait
	if over := a.n - freeAttempts; over < 6 {
		pause = min(time.Second<<over, longestWait)
	}
	return max(0, a.last.Add(pause).Sub(now))
}

// forget makes room: what is old, or everything where nothing is.
func (g *Guard) forget(now time.Time) {
	for from, a := range g.wrong {
		if now.Sub(a.last) > forgetAfter {
			delete(g.wrong, from)
		}
	}
	if len(g.wrong) >= mostOrigins {
		clear(g.wrong)
	}
}

// ThisMachine lets only those requests pass that were meant for this machine, by a name that only it has.
func ThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r) {
			http.Error(w, "this port is for this machine only: ask for it as http://127.0.0.1:PORT", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal says whether a request was meant for this machine by a name that only it has. A web site can make a name of
// its own point to 127.0.0.1, and would then read the page as its own; its name stays in Host.
func isLocal(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	return loopback.Is(host) || strings.HasSuffix(host, ".localhost")
}
