package handler

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// skipReported is how long nothing more is reported of a holder whose lease made ticks skip.
const skipReported = 10 * time.Minute

// failReported is how long a failure that goes on is not reported again.
const failReported = time.Minute

// skips remembers what was reported of ticks that did nothing: for which holder of a lease they wait, that they are
// paused, or why they fail. A worker that was killed in the middle of a tick leaves its lease: without a line the ticks
// of its successor succeed and deliver nothing for a minute, and nobody can see why. Instances that take turns would
// write such a line with every tick, and what waits for an operator an error each second.
type skips struct {
	mu       sync.Mutex
	reported map[string]time.Time
	paused   map[string]bool
	failures map[string]told // by poller, output and partition
}

// told is the failure that was reported last, and when.
type told struct {
	text string
	at   time.Time
}

func newSkips() skips {
	return skips{reported: map[string]time.Time{}, paused: map[string]bool{}, failures: map[string]told{}}
}

// first reports whether r is the first tick in a while that was skipped for this holder, or the first of a pause. A
// tick that overlaps another one in this process waits for nobody.
func (s *skips) first(r *poller.Report) bool {
	if s.pause(r) {
		return true
	}
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

// pause reports whether a pause is new.
func (s *skips) pause(r *poller.Report) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	output := r.Poller + " " + r.Output
	known := s.paused[output]
	switch {
	case r.Event == poller.Paused:
		s.paused[output] = true
		return !known
	case r.Event != poller.LeaseAcquireSkipped && (!r.Failed() || r.DocumentRead): // it was seen that there is none
		delete(s.paused, output)
	}
	return false
}

// repeats reports whether r is the same failure as the one that was reported lately, of a tick that did nothing more
// than find it again.
func (s *skips) repeats(r *poller.Report) bool {
	who := r.Poller + " " + r.Output
	if r.Share != nil {
		who += fmt.Sprint(" ", r.Share.Partition)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.failures[who]
	switch text := string(r.Event) + " " + errorText(r); {
	case r.Event == poller.LeaseAcquireSkipped || !r.RetryAt.IsZero(): // it says nothing about the failure
		return false
	case !r.Failed():
		delete(s.failures, who)
		return false
	case known && last.text == text && r.Ended.Sub(last.at) < failReported && r.Rows == 0 && len(r.Answers) == 0 &&
		len(r.DeadLettered) == 0:
		return true
	default:
		s.failures[who] = told{text, r.Ended}
		return false
	}
}

// line is the level of a tick's line, and what it says more. Under the Functions host each invocation that fails says
// why: people look at one, and its log.
func (s *skips) line(r *poller.Report, inv Invocation) (slog.Level, []slog.Attr) {
	switch {
	case s.first(r):
		return slog.LevelInfo, waitAttrs(r)
	case inv.ID == "" && s.repeats(r):
		return slog.LevelDebug, nil
	}
	return levelOf(r), nil
}

// waitAttrs say of a skipped tick until when the holder's lease can last, and that it is taken over then; of a pause,
// how it ends.
func waitAttrs(r *poller.Report) []slog.Attr {
	if r.Event == poller.Paused {
		return []slog.Attr{slog.String("next", "an operator resumes it (rowrelay state resume, rowrelay outbox resume, or the status page); "+
			"further ticks of this pause are reported at log__level=debug only")}
	}
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
