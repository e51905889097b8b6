package handler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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

// TestObserverIsTold: of each tick, and of what the log line of a failed one says to do; not of a name that somebody
// made up.
func TestObserverIsTold(t *testing.T) {
	var log strings.Builder
	type told struct {
		event poller.Event
		next  string
	}
	var seen []told
	h := New(t.Context(), Config{
		Pollers: []Poller{{Name: "orders", Outputs: []string{""},
			Runner: &endingRunner{[]poller.Event{poller.FetchEmpty, poller.FetchFailed}}}},
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
	if len(seen) != 2 || seen[0] != (told{poller.FetchEmpty, ""}) || seen[1].event != poller.FetchFailed ||
		!strings.Contains(log.String(), seen[1].next) || seen[1].next == "" {
		t.Errorf("%+v\n%s", seen, log.String())
	}
}

// TestObserverOfFanOut: of each tick it is told which partition it was of, and of the timer's which of them have work;
// so that none talks over what another tells.
func TestObserverOfFanOut(t *testing.T) {
	var seen []poller.Report
	broken := false
	fanout := &Fanout{
		Work: func(context.Context) ([]int, int, error) {
			if broken {
				return nil, 0, errors.New("denied")
			}
			return []int{1, 3}, 4, nil
		},
		About:     func(context.Context) (poller.OutboxFigures, bool, error) { return poller.OutboxFigures{}, false, nil },
		Send:      func(context.Context, []byte) error { return nil },
		Partition: func(int) (Runner, error) { return &endingRunner{[]poller.Event{poller.HandlerFailed}}, nil },
		Timeout:   time.Minute, Partitions: 4,
	}
	h := New(t.Context(), Config{
		Pollers: []Poller{{Name: "orders", Outputs: []string{""}, Outbox: &Outbox{}, Fanout: fanout}},
		Log:     slog.New(slog.DiscardHandler),
		Observe: func(r *poller.Report, _ string) { seen = append(seen, *r) },
	})
	for _, broken = range []bool{false, true} {
		if _, err := h.Tick(t.Context(), "orders", Invocation{}); err != nil {
			t.Fatal(err)
		}
	}
	h.Partition(t.Context(), "orders", []byte(`{"poller":"orders","partition":3,"of":4}`), Invocation{})
	var got []string
	for i := range seen {
		if seen[i].Share == nil {
			t.Fatalf("%+v", seen[i])
		}
		got = append(got, fmt.Sprint(seen[i].Event, *seen[i].Share))
	}
	if want := []string{"tick_complete{-1 [1 3]}", "fetch_failed{-1 []}", "handler_failed{3 []}"}; !slices.Equal(got,
		want) {
		t.Errorf("%q, want %q", got, want)
	}
}
