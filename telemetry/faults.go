package telemetry

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// between is the least time between two warnings about exporting: a receiver that is down fails every few seconds.
const between = time.Minute

// faults tells the log of what the SDK could not do. It is otel's error handler.
type faults struct {
	log     *slog.Logger
	replace *strings.Replacer
	now     func() time.Time

	mu   sync.Mutex
	last time.Time
	more int // since the last warning
}

func newFaults(log *slog.Logger, secrets []string) *faults {
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, "…")
	}
	return &faults{log: log, replace: strings.NewReplacer(pairs...), now: time.Now}
}

// Handle logs one warning a minute at most, and counts what came between. No tick hears of it.
func (f *faults) Handle(err error) {
	if _, told := errors.AsType[handled](err); told || err == nil {
		return
	}
	f.mu.Lock()
	now := f.now()
	if !f.last.IsZero() && now.Sub(f.last) < between {
		f.more++
		f.mu.Unlock()
		return
	}
	more := f.more
	f.last, f.more = now, 0
	f.mu.Unlock()
	f.log.Warn("telemetry was not exported; ticks go on without it", "event", "telemetry_failed", "error",
		f.replace.Replace(line(err)),
		"failures_since_last_line", more, "next",
		"check OTEL_EXPORTER_OTLP_ENDPOINT, its headers and the way there, or set OTEL_SDK_DISABLED=true")
}

// longest is the most that an error's text takes in a span, in bytes.
const longest = 1024

// line is the first line of an error's text: a panic's others are a stack.
func line(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
