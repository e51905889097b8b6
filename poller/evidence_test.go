package poller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

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
			return pollertest.Named(bad...)
		default:
			return pollertest.Status(d, code)
		}
	}
}

func TestPoisonRowAmongAHundred(t *testing.T) {
	for _, c := range []struct {
		code, most int // status, requests of the first tick
	}{{422, 1 + 7 + 2 + 7}, {500, 3 + 7 + 3 + 7}, {0, 3}} {
		t.Run(fmt.Sprint(c.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.NewTable(100, 100)
				to := pollertest.NewSink(t, poisonRows(c.code, "k37"))
				relay := pollertest.Relay(t, feed, to, pollertest.Hundred)
				report := relay.Tick(t.Context())
				if report.Event != poller.TickComplete || report.Rows != 100 || report.Rejected != 1 || feed.Position != 100 ||
					len(to.Accepted) != 99 {
					t.Fatalf("%d arrived: %+v", len(to.Accepted), report)
				}
				if len(to.Calls) > c.most {
					t.Errorf("%d requests, want at most %d", len(to.Calls), c.most)
				}
				for id, n := range to.Accepted {
					if n != 1 {
						t.Errorf("event %s was accepted %d times", id, n)
					}
				}
				if r := feed.Reasons["37"]; r.Cause != poller.Refused || r.Status != max(c.code, 200) ||
					!strings.Contains(r.Reason, "the receiver") {
					t.Errorf("rejection: %+v", r)
				}
			})
		})
	}
}

func TestPoisonRows(t *testing.T) {
	quick.Skip(t)
	for _, code := range []int{422, 500, 404, 0} {
		for name, bad := range map[string][]string{
			"two": {"k3", "k88"}, "neighbours": {"k40", "k41"}, "ends": {"k0", "k99"},
			"ten": {"k1", "k5", "k6", "k20", "k21", "k22", "k50", "k77", "k98", "k99"},
		} {
			for _, size := range []int{1, 10, 100} {
				t.Run(fmt.Sprintf("%d %s %d", code, name, size), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						feed := pollertest.NewTable(200, 100)
						to := pollertest.NewSink(t, poisonRows(code, bad...))
						report := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) {
							c.RequestEvents = size
						}).Tick(t.Context())
						if report.Event != poller.TickComplete || report.Rows != 200 || report.Rejected != len(bad) ||
							report.Delivered != 200-2*len(bad) || len(to.Accepted) != report.Delivered {
							t.Fatalf("%d arrived, %d requests: %+v", len(to.Accepted), len(to.Calls), report)
						}
						for _, key := range bad {
							var first int
							if _, err := fmt.Sscanf(key, "k%d", &first); err != nil {
								t.Fatal(err)
							}
							if got := feed.Outcomes[fmt.Sprint(first+100)]; !slices.Equal(got, []poller.Outcome{poller.Absorbed}) {
								t.Errorf("the event after %s: %v", key, got)
							}
						}
						pollertest.CheckOrder(t, feed.Rows, to.Order)
					})
				})
			}
		}
	}
}

// TestDestinationThatAcceptsNothing: whatever it answers, no attempt is counted, the position stays, and a tick costs a
// bounded number of requests.
func TestDestinationThatAcceptsNothing(t *testing.T) {
	quick.Skip(t)
	for name, answer := range map[string]func(context.Context, change.Delivery) error{
		"400":     func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 400) },
		"401":     func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 401) },
		"404":     func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 404) },
		"422":     func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 422) },
		"500":     func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 500) },
		"refused": func(context.Context, change.Delivery) error { return errors.New("connection refused") },
		"timeout": func(ctx context.Context, _ change.Delivery) error { <-ctx.Done(); return context.Cause(ctx) },
		"named": func(_ context.Context, d change.Delivery) error {
			indices := make([]int, len(d.Events))
			for i := range indices {
				indices[i] = i
			}
			return pollertest.Named(indices...)
		},
		"panic": func(context.Context, change.Delivery) error { panic("boom") },
	} {
		for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderSource, poller.OrderNone} {
			for _, size := range []int{1, 100} {
				t.Run(fmt.Sprintf("%s %s %d", name, ordering, size), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						feed := pollertest.NewTable(300, 300)
						feed.Ordering = ordering
						calls := make(chan struct{}, 10_000)
						to := pollertest.Func(func(ctx context.Context, d change.Delivery) error {
							calls <- struct{}{}
							return answer(ctx, d)
						})
						relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) {
							c.RequestEvents, c.Ordering = size, ordering
						})
						for range 12 { // some minutes more than the last attempt of an event that is at fault takes
							before := len(calls)
							report := relay.Tick(t.Context())
							refused := report.Event == poller.HandlerFailed && report.Rows == 0 &&
								slices.Contains(poller.OutageReasons(), report.Reason)
							if ordering != poller.OrderSource && !refused {
								t.Fatalf("%+v", report)
							}
							if n := len(calls) - before; n == 0 && ordering != poller.OrderSource || n > 40 {
								t.Errorf("%d requests in one tick", n)
							}
							time.Sleep(time.Minute)
						}
						// Nothing may be sent before the first event of ordering=source, so that few are given up before it is known.
						if ordering == poller.OrderSource && feed.Position <= pollertest.MaxProbes && len(feed.Dead) == feed.Position {
							return
						}
						if feed.Position != 0 || len(feed.Parked) != 0 || len(feed.Reasons) != 0 {
							t.Errorf("position %d, parked %v, dead %v", feed.Position, feed.Parked, feed.Dead)
						}
					})
				})
			}
		}
	}
}

// TestALoneRowIsSetAside: a row that is refused in a quiet table, where nothing shows whose fault it is, holds up no
// position, and comes no nearer to its last attempt; the tick fails.
func TestALoneRowIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 409) })
		feed := pollertest.NewTable(1, 1)
		report := pollertest.Relay(t, feed, to, pollertest.Hundred).Tick(t.Context())
		if !report.Failed() || feed.Position != 1 || len(feed.Parked) != 1 || len(feed.Dead) != 0 {
			t.Errorf("position %d, parked %v, dead %v: %+v", feed.Position, feed.Parked, feed.Dead, report)
		}
	})
}

// TestAnExpiredKeyIsNoRowsFault: a receiver that has just accepted a row lets nobody in any more, or has moved. Such an
// answer is about who sends, and no row is given up for it: not in a quiet table either, where no other one can show
// it. Where others are accepted after it, it is about the row all the same.
func TestAnExpiredKeyIsNoRowsFault(t *testing.T) {
	for code, given := range map[int]bool{301: false, 308: false, 401: false, 407: false, 403: false, 422: true} {
		synctest.Test(t, func(t *testing.T) {
			good := true
			feed := pollertest.TableOf("a", "b")
			feed.Delay, feed.MaxAttempts = time.Second, 5
			to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
				if good && string(d.Events[0].OrderKey) == `"a"` {
					return nil
				}
				return pollertest.Status(d, code)
			})
			relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.RequestEvents = 1 })
			relay.Tick(t.Context())
			good = false
			for range 20 {
				time.Sleep(2 * time.Second)
				relay.Tick(t.Context())
			}
			if len(feed.Dead) > 0 != given {
				t.Errorf("%d: given up %v, parked %v", code, feed.Dead, feed.Parked)
			}
		})
	}
}

// TestShutToOneRowOnly: others are accepted in between, in ticks of their own: then such an answer is about the row,
// and it is given up.
func TestShutToOneRowOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.TableOf("bad")
		feed.Delay, feed.MaxAttempts = time.Minute, 5
		relay := pollertest.Relay(t, feed, pollertest.NewSink(t, poisonRows(401, "bad")), pollertest.Hundred)
		for i := range 20 {
			if i%2 == 1 { // while the bad one is not due
				feed.Rows = append(feed.Rows, fmt.Sprint("good", i))
			}
			relay.Tick(t.Context())
			time.Sleep(30 * time.Second)
		}
		if len(feed.Dead) != 1 {
			t.Errorf("given up %v, parked %v", feed.Dead, feed.Parked)
		}
	})
}

// TestShutWhileOthersWereOnTheirWay: the key expires while requests are in flight. That these are accepted after the
// first that was not let in, or that others were in between, does not keep the key from having expired since.
func TestShutWhileOthersWereOnTheirWay(t *testing.T) {
	for name, again := range map[string]bool{"in flight": false, "twice": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.TableOf("slow", "late")
				feed.Delay, feed.MaxAttempts = time.Minute, 3
				var shut atomic.Bool
				to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
					if key := string(d.Events[0].OrderKey); shut.Load() || key == `"late"` {
						return pollertest.Status(d, 401)
					}
					time.Sleep(3 * time.Second)
					shut.Store(!again)
					return nil
				})
				relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.RequestEvents = 1 })
				relay.Tick(t.Context())
				if again {
					feed.Rows = append(feed.Rows, "between")
					relay.Tick(t.Context())
					shut.Store(true)
				}
				for range 20 {
					time.Sleep(30 * time.Second)
					relay.Tick(t.Context())
				}
				if len(feed.Dead) > 0 {
					t.Errorf("given up %v, parked %v", feed.Dead, feed.Parked)
				}
			})
		})
	}
}

// TestOtherRowWasAcceptedTooEarly: the other one of two rows is accepted before the bad one has failed, each time.
func TestOtherRowWasAcceptedTooEarly(t *testing.T) {
	for _, rows := range [][]string{{"bad", "good"}, {"good", "bad"}} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.TableOf(rows...)
			to := pollertest.NewSink(t, func(ctx context.Context, d change.Delivery) error {
				if string(d.Events[0].OrderKey) == `"good"` {
					return nil
				}
				if err := clock.Sleep(ctx, time.Second); err != nil {
					return err
				}
				return pollertest.Status(d, 500)
			})
			report := pollertest.Relay(t, feed, to, func(c *poller.Config) { c.RequestEvents = 1 }).Tick(t.Context())
			if report.Event != poller.TickComplete || report.Rejected != 1 || feed.Position != 2 {
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
		feed := pollertest.TableOf(rows...)
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
			if d.Events[0].ID == "0" {
				return pollertest.Status(d, 500)
			}
			return nil
		})
		report := pollertest.Relay(t, feed, to, pollertest.Hundred).Tick(t.Context())
		if report.Event != poller.TickComplete || report.Rows != 2002 || report.Rejected != 1 || feed.Position != 2002 {
			t.Fatalf("%+v", report)
		}
		if to.Accepted["2000"] != 2 || to.Accepted["2001"] != 1 || len(to.Accepted) != 2 {
			t.Errorf("accepted: %v", to.Accepted)
		}
		if len(feed.Avoided) != 1 || !slices.Equal(feed.Avoided[0], []string{`"big"`}) {
			t.Errorf("asked for an event that is none of %q", feed.Avoided)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.TableOf(rows...)
		same := 5 // of the key at hand
		feed.OtherIs = &same
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 500) })
		report := pollertest.Relay(t, feed, to, pollertest.Hundred).Tick(t.Context())
		if report.Event != poller.HandlerFailed || report.Reason != "unavailable" || len(to.Calls) > 12 ||
			feed.Reasons["0"].Cause != poller.Unavailable {
			t.Errorf("%d requests, %v: %+v", len(to.Calls), feed.Reasons, report)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.TableOf(rows...)
		feed.OtherErr = &poller.Fault{Event: poller.FetchFailed, Err: errors.New("no route to the database")}
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error { return pollertest.Status(d, 500) })
		report := pollertest.Relay(t, feed, to, pollertest.Hundred).Tick(t.Context())
		if report.Event != poller.HandlerFailed || report.Reason != "unavailable" ||
			!strings.Contains(report.Err.Error(), "no route") || !strings.Contains(report.Err.Error(), "answered 500") {
			t.Errorf("%+v", report)
		}
	})
}

func TestBrokenEventIsRejectedWithoutBeingSent(t *testing.T) {
	for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderNone, poller.OrderSource} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.NewTable(5, 5)
			feed.Broken, feed.Ordering, feed.MaxAttempts = map[int]bool{2: true}, ordering, 1
			to := pollertest.NewSink(t, nil)
			relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.Ordering = ordering })
			report := relay.Tick(t.Context())
			if report.Event != poller.TickComplete || report.Rejected != 1 || feed.Reasons["2"].Cause != poller.Impossible {
				t.Errorf("%s: %+v", ordering, report)
			}
			relay.Tick(t.Context())
			if feed.Position != 5 || len(to.Accepted) != 4 || to.Accepted["2"] != 0 {
				t.Errorf("%s: position %d, accepted %v", ordering, feed.Position, to.Accepted)
			}
		})
	}
}
