package leased_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/leased"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// fakeHost is the Functions host of several instances: a timer that fires on the first, and a queue whose messages go
// to whichever instance is next, several at a time. The instances are whole but for the database, of which the model
// answers the statements, and the network.
type fakeHost struct {
	*testing.T
	instances []http.Handler
	mu        sync.Mutex
	queue     []string
}

// call posts an invocation, as the host does.
func (h *fakeHost) call(instance int, function, body string) {
	h.Helper()
	answer := httptest.NewRecorder()
	h.instances[instance].ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/"+function, strings.NewReader(body)))
	if answer.Code != http.StatusOK {
		h.Errorf("instance %d, %s: %d %s", instance, function, answer.Code, answer.Body)
	}
}

// fire fires the timer once, and delivers what is queued then.
func (h *fakeHost) fire() (messages int) {
	h.call(0, "orders", `{"Data":{"timer":{"IsPastDue":false}},"Metadata":{}}`)
	h.mu.Lock()
	queue := h.queue
	h.queue = nil
	h.mu.Unlock()
	var all sync.WaitGroup
	for n, message := range queue {
		text, err := json.Marshal(message)
		if err != nil {
			h.Fatal(err)
		}
		all.Go(func() {
			h.call(n%len(h.instances), "orders_partition",
				fmt.Sprintf(`{"Data":{"message":%s},"Metadata":{"DequeueCount":"1"}}`, text))
		})
	}
	all.Wait()
	return len(queue)
}

// TestFanOutUnderTheHost: the timer of one instance hands the changes out to three by a queue: each comes once, each
// instance delivers some, and when little is left the timer's own tick takes it.
func TestFanOutUnderTheHost(t *testing.T) {
	quick.Skip(t)
	for _, compat := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { fanOutUnderTheHost(t, compat) })
	}
}

func fanOutUnderTheHost(t *testing.T, compat bool) {
	t.Helper()
	m := newServer()
	m.compat = compat
	host := &fakeHost{T: t}
	var mu sync.Mutex
	seen, by := map[string]int{}, make([]int, 3)
	for n := range by {
		in := m.start(t, func(e change.Event) error {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			seen[string(e.Key)]++
			by[n]++
			return nil
		})
		host.instances = append(host.instances, handler.New(t.Context(), handler.Config{
			Log: slog.New(slog.DiscardHandler),
			Pollers: []handler.Poller{{Name: "orders", Outputs: []string{""}, Runner: poller.New(in.relay),
				Fanout: &handler.Fanout{
					Work: func(ctx context.Context) ([]int, int, error) { return in.feed.Workers(ctx, 300) },
					Send: func(_ context.Context, message []byte) error {
						host.mu.Lock()
						defer host.mu.Unlock()
						host.queue = append(host.queue, string(message))
						return nil
					},
					Partition: func(int) (handler.Runner, error) {
						return poller.New(pollertest.Relay(t, in.feed, pollertest.Func(in.deliver), pollertest.Hundred,
							in.whole)), nil
					},
					Partitions: leased.MostWorkers, Timeout: time.Minute,
				}}},
		}))
	}
	if n := host.fire(); n > 0 || m.leases == nil {
		t.Fatalf("the first timer sent %d messages, and made no tables", n)
	}
	const changes = 3300 // more than the workers of two instances take at once
	for n := range changes {
		m.commit(fmt.Sprintf("i %d 1", n+1))
	}
	if n := host.fire(); n != 11 {
		t.Errorf("%d messages for %d changes at 300 a worker", n, changes)
	}
	m.commit("u 1 2")
	for range 20 {
		host.fire()
		time.Sleep(time.Second)
	}
	for key, n := range seen {
		if n != 1 && key != `{"id":1}` {
			t.Errorf("%s came %d times", key, n)
		}
	}
	if len(seen) != changes || slices.Min(by) == 0 || seen[`{"id":1}`] != 2 {
		t.Errorf("%d of %d, by instance %v, the updated one %d times", len(seen), changes, by, seen[`{"id":1}`])
	}
}
