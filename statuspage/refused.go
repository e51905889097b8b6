package statuspage

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// refused logs what was refused: a line for an origin and a minute, with how many there were, so that whoever guesses
// does not fill the log. It holds neither tokens nor what else was sent.
type refused struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	told map[string]telling // by origin
}

// telling is what was told of an origin last.
type telling struct {
	at   time.Time
	more int // since then
}

const tellEvery = time.Minute

func newRefused(log *slog.Logger, now func() time.Time) *refused {
	return &refused{log: log, now: now, told: map[string]telling{}}
}

// tell logs that a request was refused, and why.
func (d *refused) tell(r *http.Request, why string) {
	from := origin(r)
	more, due := d.due(from)
	if !due {
		return
	}
	d.log.WarnContext(r.Context(), "a request to the status page, or to /metrics, was refused", "why", why, "from", from,
		"method", r.Method, "more_since_the_last_line", more,
		"next", "more of the same are told once a minute; if nobody you know sends them, see who can reach status__listen, and change status__token")
}

// due says whether an origin's refusal is to be told, and how many were not since the last that was.
func (d *refused) due(from string) (more int, due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	past, known := d.told[from]
	if known && now.Sub(past.at) < tellEvery {
		d.told[from] = telling{past.at, past.more + 1}
		return 0, false
	}
	if len(d.told) >= mostOrigins {
		clear(d.told)
	}
	d.told[from] = telling{at: now}
	return past.more, true
}

// origin is whom wrong tokens are counted for: an IPv4 address, or the /64 of an IPv6 one, within which one machine may
// take any address it likes.
func origin(r *http.Request) string {
	host := remote(r)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
}

// mostOrigins bounds the origins that are remembered: of wrong tokens, and of refusals that were logged.
const mostOrigins = 4096

// remote is the address of the peer. Headers that name another are not believed: anybody can send them.
func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
