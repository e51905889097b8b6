package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// skippedLine is what a line says of a skipped tick.
type skippedLine struct {
	Level, Event, Error, Next string
	Until                     time.Time
}

// heldBy says who holds the lease, and for how long.
type heldBy struct {
	owner string
	left  time.Duration
}

func (e *heldBy) Error() string { return "the lease is held by " + e.owner }

// TestTheFirstSkippedTickIsTold: at once, who holds the lease, until when it can last, and that it ends by itself;
// not every tick.
func TestTheFirstSkippedTickIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var err error
		h := New(t.Context(), Config{
			Pollers: []Poller{{Name: "orders", Outputs: []string{""}, Runner: runs(func(context.Context) []poller.Report {
				r := newReport("orders")
				r.Event, r.Err = poller.LeaseAcquireSkipped, err
				var held *heldBy
				if errors.As(err, &held) { // as a feed's report tells
					r.Holder, r.Until = held.owner, time.Now().Add(held.left)
				}
				return []poller.Report{r}
			})}},
			Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		tick := func(held error) (l skippedLine) {
			t.Helper()
			err = held
			log.Reset()
			if _, err := h.Tick(t.Context(), "orders", Invocation{}); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(log.Bytes(), &l); err != nil {
				t.Fatalf("%v: %s", err, log.String())
			}
			if l.Event != "lease_acquire_skipped" {
				t.Errorf("%s", log.String())
			}
			return l
		}
		dead := func() error { return &heldBy{"shop/dead", 55 * time.Second} }
		first := tick(fmt.Errorf("opening: %w", dead()))
		if first.Level != "INFO" || !first.Until.Equal(time.Now().Add(55*time.Second)) ||
			!strings.Contains(first.Error, "shop/dead") ||
			!strings.Contains(first.Next, "takes over by itself") {
			t.Errorf("the first skipped tick says %+v", first)
		}
		var levels []string
		for range 3 {
			time.Sleep(10 * time.Second)
			levels = append(levels, tick(dead()).Level)
		}
		levels = append(levels,
			tick(&heldBy{"shop/another", time.Second}).Level,
			tick(poller.ErrOverlap).Level,
			tick(errors.New("the outbox is being published by another instance")).Level)
		time.Sleep(skipReported)
		levels = append(levels, tick(dead()).Level) // long after: it may have died since
		if want := []string{"DEBUG", "DEBUG", "DEBUG", "INFO", "DEBUG", "INFO", "INFO"}; !slices.Equal(levels, want) {
			t.Errorf("the later ticks are told at %v, want %v", levels, want)
		}
	})
}

// TestAFailureThatGoesOnIsToldEachMinute: not with every tick that finds it again, which may be each second; but at
// once when it is another one, when the tick did something, and after a success. Under the host, with every tick.
func TestAFailureThatGoesOnIsToldEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var report poller.Report
		h := New(t.Context(), Config{
			Pollers: []Poller{{Name: "orders", Outputs: []string{""}, Runner: runs(func(context.Context) []poller.Report {
				r := newReport("orders")
				r.Event, r.Err, r.Rows, r.Answers = report.Event, report.Err, report.Rows, report.Answers
				return []poller.Report{r}
			})}},
			Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		gone := poller.Report{Event: poller.StateGone, Err: errors.New("it is gone")}
		asked := poller.Report{Event: poller.StateGone, Err: gone.Err, Answers: map[string]int{"503": 1}}
		for i, c := range []struct {
			after time.Duration
			is    poller.Report
			want  string
		}{
			{0, gone, "ERROR"}, {time.Second, gone, "DEBUG"}, {58 * time.Second, gone, "DEBUG"}, {time.Second, gone, "ERROR"},
			{time.Second, poller.Report{Event: poller.FetchFailed, Err: gone.Err}, "ERROR"}, {time.Second, gone, "ERROR"},
			{time.Second, asked, "ERROR"}, {time.Second, gone, "DEBUG"},
			{time.Second, poller.Report{Event: poller.LeaseAcquireSkipped, Err: poller.ErrOverlap}, "DEBUG"},
			{time.Second, gone, "DEBUG"},
			{time.Second, poller.Report{Event: poller.TickComplete}, "INFO"}, {time.Second, gone, "ERROR"},
		} {
			time.Sleep(c.after)
			report = c.is
			log.Reset()
			if _, err := h.Tick(t.Context(), "orders", Invocation{}); err != nil {
				t.Fatal(err)
			}
			var line skippedLine
			if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Level != c.want {
				t.Errorf("tick %d: %v, %s instead of %s: %s", i, err, line.Level, c.want, log.String())
			}
			log.Reset()
			if _, err := h.Tick(t.Context(), "orders", Invocation{ID: "7"}); err != nil {
				t.Fatal(err)
			}
			if hosted := strings.Contains(log.String(), `"level":"ERROR"`); hosted != c.is.Event.Fails() {
				t.Errorf("tick %d, under the host: %s", i, log.String())
			}
		}
	})
}
