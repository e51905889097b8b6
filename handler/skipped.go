package handler

import (
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// skipReported is how long nothing more is reported of a holder whose lease made ticks skip.
const skipReported = 10 * time.Minute

// skips remembers of which holders of a lease it was reported that ticks wait for them. A worker that was killed in the
// middle of a tick leaves its lease: without a line the ticks of its successor succeed and deliver nothing for
// a minute, and nobody can see why. Instances that take turns would write such a line with every tick.
type skips struct {
	mu       sync.Mutex
	reported map[string]time.Time
}

// first reports whether r is the first tick in a while that was skipped for this holder. A tick that overlaps another
// one in this process waits for nobody.
func (s *skips) first(r *poller.Report) bool {
	if r.Event != poller.LeaseAcquireSkipped || r.Err == nil || errors.Is(r.Err, poller.ErrOverlap) {
		return false
	}
	holder := r.Poller + " " + r.Output + " " + r.Err.Error() // of an outbox the error names its publisher
	if r.Holder != "" {
		holder = r.Poller + " " + r.Output + " " + r.Holder
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.reported, func(_ string, at time.Time) bool { return r.Ended.Sub(at) > skipReported })
	if _, known := s.reported[holder]; known {
		return false
	}
	s.reported[holder] = r.Ended
	return true
}

// waitAttrs say of a skipped tick until when the holder's lease can last, and that it is taken over then.
func waitAttrs(r *poller.Report) []slog.Attr {
	end := "within source__claim_ttl and a few seconds"
	var list []slog.Attr
	if !r.Until.IsZero() {
		end = "with the first tick after the time in \"until\""
		list = append(list, slog.Time("until", r.Until.UTC()))
	}
	return append(list, slog.String("next",
		"nothing: a holder that is alive delivers these rows; after one that has died, "+
			"this instance takes over by itself, "+end+". Further skipped ticks are reported at log__level=debug only"))
}
