package handler

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// endingRunner runs ticks that end one after the other as they are listed.
type endingRunner struct{ events []poller.Event }

func (r *endingRunner) Run(context.Context) []poller.Report {
	report := newReport("orders")
	report.Event, r.events = r.events[0], r.events[1:]
	if report.Failed() {
		report.Err = errors.New("denied")
	}
	return []poller.Report{report}
}

// TestObserverIsTold: of each tick, and of what the log line of a failed one says to do; not of a name that somebody made up.
func TestObserverIsTold(t *testing.T) {
	var log strings.Builder
	type told struct {
		event poller.Event
		next  string
	}
	var seen []told
	h := New(t.Context(), Config{
		Pollers: []Poller{{Name: "orders", Outputs: []string{""}, Runner: &endingRunner{[]poller.Event{poller.FetchEmpty, poller.FetchFailed}}}},
		Log:     slog.New(slog.NewJSONHandler(&log, nil)),
		Observe: func(r *poller.Report, next string) { seen = append(seen, told{r.Event, next}) },
	})
	for range 2 {
		if _, err := h.Tick(t.Context(), "Orders", Invocation{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Tick(t.Context(), "others", Invocation{}); err == nil {
		t.Error("an unknown poller ticks")
	}
	if len(seen) != 2 || seen[0] != (told{poller.FetchEmpty, ""}) || seen[1].event != poller.FetchFailed || !strings.Contains(log.String(), seen[1].next) || seen[1].next == "" {
		t.Errorf("%+v\n%s", seen, log.String())
	}
}

// TestObserverOfFanOut: a failure to hand partitions out is told, and its end; a success in between would talk over what the
// partitions' own ticks tell.
func TestObserverOfFanOut(t *testing.T) {
	var seen []poller.Event
	broken := false
	fanout := &Fanout{
		Work: func(context.Context) ([]int, int, error) {
			if broken {
				return nil, 0, errors.New("denied")
			}
			return nil, 4, nil
		},
		About:   func(context.Context) (poller.OutboxFigures, bool, error) { return poller.OutboxFigures{}, false, nil },
		Timeout: time.Minute,
	}
	h := New(t.Context(), Config{
		Pollers: []Poller{{Name: "orders", Outputs: []string{""}, Outbox: &Outbox{Fanout: fanout}}},
		Log:     slog.New(slog.DiscardHandler),
		Observe: func(r *poller.Report, _ string) { seen = append(seen, r.Event) },
	})
	for _, broken = range []bool{false, true, false, false} {
		if _, err := h.Tick(t.Context(), "orders", Invocation{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 2 || seen[0] != poller.FetchFailed || seen[1] != poller.FetchEmpty {
		t.Errorf("%v", seen)
	}
}
