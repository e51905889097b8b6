package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

var rejectStatus = []int{400, 413, 422}

// status fails a whole request.
func status(d change.Delivery, code int) error {
	cause := Unavailable
	if code >= 400 && code < 500 {
		cause = Refused
	}
	return FailAll(len(d.Events), cause, code, fmt.Errorf("the receiver answered %d", code))
}

// named fails the events of a 200 answer.
func named(indices ...int) error {
	failed := make([]FailedEvent, len(indices))
	for i, index := range indices {
		failed[i] = FailedEvent{Index: index, Cause: Refused, Status: 200, Named: true}
	}
	return &DeliveryError{Failed: failed, Err: errors.New("the receiver named some")}
}

// poisonRows answers a code to each request that holds one of the keys; 0 names them in a 200 answer.
func poisonRows(code int, keys ...string) func(context.Context, change.Delivery) error {
	return func(_ context.Context, d change.Delivery) error {
		var bad []int
		for i, e := range d.Events {
			if slices.Contains(keys, strings.Trim(string(e.OrderKey), `"`)) {
				bad = append(bad, i)
			}
		}
		switch {
		case len(bad) == 0:
			return nil
		case code == 0:
			return named(bad...)
		default:
			return status(d, code)
		}
	}
}

// one makes requests of up to 100 events of batches of up to 100.
func one(c *Config) {
	c.Fetch.Rows, c.RequestEvents, c.RejectStatus = 100, 100, rejectStatus
}

func TestPoisonRowAmongAHundred(t *testing.T) {
	for _, c := range []struct {
		code, most int // status, requests of the first tick
	}{{422, 1 + 7 + 2 + 7}, {500, 3 + 7 + 3 + 7}, {0, 3}} {
		t.Run(fmt.Sprint(c.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := newParkingTable(keys(100, 100))
				to := newSink(t, poisonRows(c.code, "k37"))
				relay := relayOf(t, feed, to, one)
				report := relay.Tick(t.Context())
				if report.Event != TickComplete || report.Rows != 100 || report.Rejected != 1 || feed.position != 100 ||
					len(to.accepted) != 99 {
					t.Fatalf("%d arrived: %+v", len(to.accepted), report)
				}
				if len(to.calls) > c.most {
					t.Errorf("%d requests, want at most %d", len(to.calls), c.most)
				}
				for id, n := range to.accepted {
					if n != 1 {
						t.Errorf("event %s was accepted %d times", id, n)
					}
				}
				if r := feed.reasons["37"]; r.Cause != Refused || r.Status != max(c.code, 200) ||
					!strings.Contains(r.Reason, "the receiver") {
					t.Errorf("rejection: %+v", r)
				}
			})
		})
	}
}

func TestPoisonRows(t *testing.T) {
	for _, code := range []int{422, 500, 404, 0} {
		for name, bad := range map[string][]string{
			"two": {"k3", "k88"}, "neighbours": {"k40", "k41"}, "ends": {"k0", "k99"},
			"ten": {"k1", "k5", "k6", "k20", "k21", "k22", "k50", "k77", "k98", "k99"},
		} {
			for _, size := range []int{1, 10, 100} {
				t.Run(fmt.Sprintf("%d %s %d", code, name, size), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						feed := newParkingTable(keys(200, 100))
						to := newSink(t, poisonRows(code, bad...))
						report := relayOf(t, feed, to, func(c *Config) { one(c); c.RequestEvents = size }).Tick(t.Context())
						if report.Event != TickComplete || report.Rows != 200 || report.Rejected != len(bad) ||
							len(to.accepted) != 200-2*len(bad) {
							t.Fatalf("%d arrived, %d requests: %+v", len(to.accepted), len(to.calls), report)
						}
						for _, key := range bad {
							var first int
							if _, err := fmt.Sscanf(key, "k%d", &first); err != nil {
								t.Fatal(err)
							}
							if got := feed.outcomes[fmt.Sprint(first+100)]; !slices.Equal(got, []Outcome{Absorbed}) {
								t.Errorf("the event behind %s: %v", key, got)
							}
						}
						assertOrderPerKey(t, feed.rows, to.order)
					})
				})
			}
		}
	}
}

// TestDestinationThatAcceptsNothing: whatever it answers, no attempt is counted, the position stays, and a tick costs a
// bounded number of requests.
func TestDestinationThatAcceptsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: `make test` runs it")
	}
	for name, answer := range map[string]func(context.Context, change.Delivery) error{
		"400":     func(_ context.Context, d change.Delivery) error { return status(d, 400) },
		"401":     func(_ context.Context, d change.Delivery) error { return status(d, 401) },
		"404":     func(_ context.Context, d change.Delivery) error { return status(d, 404) },
		"422":     func(_ context.Context, d change.Delivery) error { return status(d, 422) },
		"500":     func(_ context.Context, d change.Delivery) error { return status(d, 500) },
		"refused": func(context.Context, change.Delivery) error { return errors.New("connection refused") },
		"timeout": func(ctx context.Context, _ change.Delivery) error { <-ctx.Done(); return context.Cause(ctx) },
		"named": func(_ context.Context, d change.Delivery) error {
			indices := make([]int, len(d.Events))
			for i := range indices {
				indices[i] = i
			}
			return named(indices...)
		},
		"panic": func(context.Context, change.Delivery) error { panic("boom") },
	} {
		for _, ordering := range []Ordering{OrderKey, OrderSource, OrderNone} {
			for _, size := range []int{1, 100} {
				t.Run(fmt.Sprintf("%s %s %d", name, ordering, size), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						feed := newParkingTable(keys(300, 300))
						feed.ordering = ordering
						calls := make(chan struct{}, 10_000)
						to := outputFunc(func(ctx context.Context, d change.Delivery) error {
							calls <- struct{}{}
							return answer(ctx, d)
						})
						relay := relayOf(t, feed, to, func(c *Config) { one(c); c.RequestEvents, c.Ordering = size, ordering })
						for range 30 {
							before := len(calls)
							report := relay.Tick(t.Context())
							refused := report.Event == HandlerFailed && report.Reason == "unavailable" && report.Rows == 0
							if ordering != OrderSource && !refused {
								t.Fatalf("%+v", report)
							}
							if n := len(calls) - before; n == 0 && ordering != OrderSource || n > 40 {
								t.Errorf("%d requests in one tick", n)
							}
							time.Sleep(time.Minute)
						}
						// Nothing may be sent before the first event of ordering=source, so that few are given up before it is known.
						if ordering == OrderSource && feed.position <= maxProbes && len(feed.dead) == feed.position {
							return
						}
						if feed.position != 0 || len(feed.parked) != 0 || len(feed.reasons) != 0 {
							t.Errorf("position %d, parked %v, dead %v", feed.position, feed.parked, feed.dead)
						}
					})
				})
			}
		}
	}
}

// TestOtherRowWasAcceptedTooEarly: the other one of two rows is accepted before the bad one has failed, each time.
func TestOtherRowWasAcceptedTooEarly(t *testing.T) {
	for _, rows := range [][]string{{"bad", "good"}, {"good", "bad"}} {
		synctest.Test(t, func(t *testing.T) {
			feed := newParkingTable(rows)
			to := newSink(t, func(ctx context.Context, d change.Delivery) error {
				if string(d.Events[0].OrderKey) == `"good"` {
					return nil
				}
				if err := clock.Sleep(ctx, time.Second); err != nil {
					return err
				}
				return status(d, 500)
			})
			report := relayOf(t, feed, to, func(c *Config) { c.RequestEvents = 1 }).Tick(t.Context())
			if report.Event != TickComplete || report.Rejected != 1 || feed.position != 2 {
				t.Errorf("%+v", report)
			}
		})
	}
}

// TestProbeFromElsewhere: where all that is at hand is of one tenant, the row of another one decides; it comes again at
// its place, and what is not allowed before others of its key is not sent.
func TestProbeFromElsewhere(t *testing.T) {
	rows := slices.Concat(slices.Repeat([]string{"big"}, 2000), []string{"small", "tiny"})
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable(rows)
		to := newSink(t, func(_ context.Context, d change.Delivery) error {
			if d.Events[0].ID == "0" {
				return status(d, 500)
			}
			return nil
		})
		report := relayOf(t, feed, to, one).Tick(t.Context())
		if report.Event != TickComplete || report.Rows != 2002 || report.Rejected != 1 || feed.position != 2002 {
			t.Fatalf("%+v", report)
		}
		if to.accepted["2000"] != 2 || to.accepted["2001"] != 1 || len(to.accepted) != 2 {
			t.Errorf("accepted: %v", to.accepted)
		}
		if len(feed.asked) != 1 || !slices.Equal(feed.asked[0], []string{`"big"`}) {
			t.Errorf("asked for an event that is none of %q", feed.asked)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable(rows)
		feed.otherIs = 5 // of the key at hand
		to := newSink(t, func(_ context.Context, d change.Delivery) error { return status(d, 500) })
		report := relayOf(t, feed, to, one).Tick(t.Context())
		if report.Event != HandlerFailed || report.Reason != "unavailable" || len(to.calls) > 12 ||
			feed.reasons["0"].Cause != Unavailable {
			t.Errorf("%d requests, %v: %+v", len(to.calls), feed.reasons, report)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable(rows)
		feed.otherErr = &Fault{FetchFailed, errors.New("no route to the database")}
		to := newSink(t, func(_ context.Context, d change.Delivery) error { return status(d, 500) })
		report := relayOf(t, feed, to, one).Tick(t.Context())
		if report.Event != HandlerFailed || report.Reason != "unavailable" ||
			!strings.Contains(report.Err.Error(), "no route") || !strings.Contains(report.Err.Error(), "answered 500") {
			t.Errorf("%+v", report)
		}
	})
}

func TestBrokenEventIsRejectedWithoutBeingSent(t *testing.T) {
	for _, ordering := range []Ordering{OrderKey, OrderNone, OrderSource} {
		synctest.Test(t, func(t *testing.T) {
			feed := newParkingTable(keys(5, 5))
			feed.broken, feed.ordering, feed.maxAttempts = map[int]bool{2: true}, ordering, 1
			to := newSink(t, nil)
			relay := relayOf(t, feed, to, func(c *Config) { one(c); c.Ordering = ordering })
			report := relay.Tick(t.Context())
			if report.Event != TickComplete || report.Rejected != 1 || feed.reasons["2"].Cause != Impossible {
				t.Errorf("%s: %+v", ordering, report)
			}
			relay.Tick(t.Context())
			if feed.position != 5 || len(to.accepted) != 4 || to.accepted["2"] != 0 {
				t.Errorf("%s: position %d, accepted %v", ordering, feed.position, to.accepted)
			}
		})
	}
}
