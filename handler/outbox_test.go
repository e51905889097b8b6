package handler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

// fanned is an outbox with fan-out whose partitions and messages are remembered.
type fanned struct {
	mu       sync.Mutex
	work     []int
	of       int
	workErr  error
	sendErr  error
	messages []string
	ran      []int
	made     []int
	whole    int
	abouts   int
	paused   bool
	cleaned  handler.Cleaned
	cleanErr error
}

func (f *fanned) config() handler.Config {
	return handler.Config{Pollers: []handler.Poller{{
		Name: "orders", Outputs: []string{""},
		Runner: runner(func(context.Context) []poller.Report {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.whole++
			return []poller.Report{{Poller: "orders", Event: poller.TickComplete, Parked: -1, NullCursors: -1}}
		}),
		Outbox: &handler.Outbox{
			Cleanup:       func(context.Context) (handler.Cleaned, error) { return f.cleaned, f.cleanErr },
			CleanupBudget: time.Minute,
		},
		Fanout: &handler.Fanout{
			Work: func(context.Context) ([]int, int, error) { return f.work, f.of, f.workErr },
			About: func(context.Context) (poller.OutboxFigures, bool, error) {
				f.abouts++
				return poller.OutboxFigures{Dead: 2}, f.paused, nil
			},
			Send: func(_ context.Context, message []byte) error {
				if f.sendErr != nil && len(f.messages) > 0 {
					return f.sendErr
				}
				f.messages = append(f.messages, string(message))
				return nil
			},
			Partition: func(n int) (handler.Runner, error) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.made = append(f.made, n)
				return runner(func(context.Context) []poller.Report {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.ran = append(f.ran, n)
					return []poller.Report{{Poller: "orders", Event: poller.TickComplete, Rows: 1, Parked: -1, NullCursors: -1}}
				}), nil
			},
			Partitions: 1024, Timeout: time.Minute,
		},
	}}}
}

// queueBody is what the host posts for a queue message: see the facts, trap 5.
func queueBody(t *testing.T, message string, wraps int) string {
	t.Helper()
	value := message
	for range wraps {
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		value = string(b)
	}
	return fmt.Sprintf(`{"Data":{"message":%s},"Metadata":{"DequeueCount":"1"}}`, value)
}

func TestFanOutSendsAMessageForEachPartitionWithWork(t *testing.T) {
	var c console
	f := &fanned{work: []int{3, 17}, of: 64}
	server := serve(t, &c, f.config())
	if status, body := do(t, "POST", server.URL+"/orders", timer); status != 200 || len(body) != 0 {
		t.Fatalf("%d %v", status, body)
	}
	want := []string{`{"poller":"orders","partition":3,"of":64}`, `{"poller":"orders","partition":17,"of":64}`}
	if !slices.Equal(f.messages, want) || f.whole != 0 {
		t.Errorf("messages %q, ticks of the whole %d", f.messages, f.whole)
	}
	if lines := c.out(); len(lines) != 1 || lines[0]["event"] != "fanout_complete" || lines[0]["of"] != 64.0 {
		t.Errorf("said %v", lines)
	}
	// What was sent is what the partition's function reads, however the host wraps it.
	for wraps := range 3 {
		for _, message := range f.messages {
			if status, body := do(t, "POST", server.URL+"/orders_partition", queueBody(t, message, wraps)); status != 200 ||
				len(body) != 0 {
				t.Errorf("%d wraps: %d %v", wraps, status, body)
			}
		}
	}
	if want := []int{3, 17, 3, 17, 3, 17}; !slices.Equal(f.ran, want) || !slices.Equal(f.made, []int{3, 17}) {
		t.Errorf("partitions %v ran, want %v; runners made for %v, want one for each", f.ran, want, f.made)
	}
}

func TestFanOutFaults(t *testing.T) {
	for name, c := range map[string]struct {
		f      *fanned
		status int
		event  string
	}{
		"no partitions: the timer publishes": {&fanned{}, 200, "tick_complete"},
		"one partition: so it does":          {&fanned{work: []int{0}, of: 1}, 200, "tick_complete"},
		"the database":                       {&fanned{workErr: errors.New("down")}, 500, "fetch_failed"},
		"the settings": {&fanned{workErr: fmt.Errorf("%w: no table", poller.ErrConfig)}, 500,
			"config_invalid"},
		"the queue, after one message": {&fanned{work: []int{1, 2}, of: 4, sendErr: errors.New("down")}, 500,
			"handler_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out console
			server := serve(t, &out, c.f.config())
			status, _ := do(t, "POST", server.URL+"/orders", timer)
			lines := append(out.out(), out.err()...)
			if status != c.status || len(lines) != 1 || lines[0]["event"] != c.event {
				t.Errorf("status %d, said %v", status, lines)
			}
			if c.status == 200 && c.f.whole != 1 {
				t.Errorf("%d ticks of the whole outbox", c.f.whole)
			}
		})
	}
}

// A message that makes no sense must not be moved to the poison queue for ever, and must not run anything.
func TestMessagesThatMakeNoSenseAreDropped(t *testing.T) {
	for _, message := range []string{
		"", "hello", "null", "[]", "3", `{"poller":"orders"}`, `{"poller":"orders","partition":-1}`,
		`{"poller":"orders","partition":1024}`,
		`{"poller":"orders","partition":"3"}`, `{"poller":"payments","partition":3,"of":64}`, `{"partition":3,"of":64}`,
	} {
		var c console
		f := &fanned{of: 64}
		server := serve(t, &c, f.config())
		status, _ := do(t, "POST", server.URL+"/orders_partition", queueBody(t, message, 1))
		if lines := c.err(); status != 200 || len(f.ran) != 0 || len(lines) != 1 || lines[0]["event"] != "message_dropped" ||
			lines[0]["level"] != "WARN" ||
			strings.Contains(fmt.Sprint(lines), "share a queue") != strings.Contains(message, "payments") {
			t.Errorf("%q: status %d, ran %v, said %v", message, status, f.ran, lines)
		}
	}
}

func FuzzPartitionMessage(f *testing.F) {
	f.Add(`{"Data":{"message":"{\"poller\":\"orders\",\"partition\":3,\"of\":64}"}}`)
	f.Add(`{"Data":{"message":{"poller":"ORDERS","partition":3}}}`)
	f.Add(`{"Data":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		var c console
		o := &fanned{of: 64}
		server := serve(t, &c, o.config())
		status, _ := do(t, "POST", server.URL+"/orders_partition", body)
		for _, n := range o.ran {
			if status != 200 || n < 0 || n >= 1024 {
				t.Errorf("%q: status %d, ran %v", body, status, o.ran)
			}
		}
	})
}

func TestCleanupFunction(t *testing.T) {
	var c console
	f := &fanned{cleaned: handler.Cleaned{Rows: 12000, Chunks: 2}}
	server := serve(t, &c, f.config())
	if status, body := do(t, "POST", server.URL+"/orders_cleanup", timer); status != 200 || len(body) != 0 {
		t.Fatalf("%d %v", status, body)
	}
	if lines := c.out(); len(lines) != 1 || lines[0]["event"] != "cleanup_complete" || lines[0]["rows"] != 12000.0 ||
		lines[0]["more"] != false {
		t.Errorf("said %v", lines)
	}
	f.cleanErr = errors.New("the disk is full")
	if status, body := do(t, "POST", server.URL+"/orders_cleanup", timer); status != 500 ||
		body["error"] != "the disk is full" {
		t.Errorf("%d %v", status, body)
	}
	if lines := c.err(); len(lines) != 1 || lines[0]["event"] != "cleanup_failed" ||
		!strings.Contains(fmt.Sprint(lines[0]["next"]), "rowrelay outbox cleanup orders") {
		t.Errorf("said %v", lines)
	}
	if err := testutil.ScrapeAndCompare(server.URL+"/metrics", strings.NewReader(`
# HELP rowrelay_outbox_cleaned_total Published and discarded events that clean-ups deleted.
# TYPE rowrelay_outbox_cleaned_total counter
rowrelay_outbox_cleaned_total{poller="orders"} 24000
# HELP rowrelay_outbox_cleanup_failures_total Clean-ups that failed.
# TYPE rowrelay_outbox_cleanup_failures_total counter
rowrelay_outbox_cleanup_failures_total{poller="orders"} 1
`), "rowrelay_outbox_cleaned_total", "rowrelay_outbox_cleanup_failures_total"); err != nil {
		t.Error(err)
	}
}

// A clean-up that its budget ends answers in time, and is no failure: the next one goes on.
func TestCleanupEndsAtItsBudget(t *testing.T) {
	var c console
	cfg := (&fanned{}).config()
	cfg.Pollers[0].Outbox.CleanupBudget = 10 * time.Millisecond
	cfg.Pollers[0].Outbox.Cleanup = func(ctx context.Context) (handler.Cleaned, error) {
		<-ctx.Done()
		return handler.Cleaned{Rows: 10000, Chunks: 1}, fmt.Errorf("deleting: %w", ctx.Err())
	}
	server := serve(t, &c, cfg)
	if status, _ := do(t, "POST", server.URL+"/orders_cleanup", timer); status != 200 {
		t.Errorf("status %d", status)
	}
	if lines := c.out(); len(lines) != 1 || lines[0]["more"] != true || lines[0]["rows"] != 10000.0 {
		t.Errorf("said %v, %v", lines, c.err())
	}
}

// Changes that instances share by leases are handed out the same way: there is no outbox to count, and no clean-up.
func TestLeasesAreHandedOut(t *testing.T) {
	var c console
	f := &fanned{work: []int{0, 1, 2}, of: 3}
	cfg := f.config()
	cfg.Pollers[0].Outbox, cfg.Pollers[0].Fanout.About = nil, nil
	server := serve(t, &c, cfg)
	if status, body := do(t, "POST", server.URL+"/orders", timer); status != 200 || len(f.messages) != 3 || f.whole != 0 {
		t.Errorf("%d %v: %q, %d ticks of the timer's own", status, body, f.messages, f.whole)
	}
	if status, _ := do(t, "POST", server.URL+"/orders_partition", queueBody(t, f.messages[2], 1)); status != 200 ||
		!slices.Equal(f.ran, []int{2}) {
		t.Errorf("%d, ran %v", status, f.ran)
	}
	f.work, f.of = nil, 1
	if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 200 || len(f.messages) != 3 || f.whole != 1 {
		t.Errorf("%d: %q, %d ticks of the timer's own", status, f.messages, f.whole)
	}
	if status, _ := do(t, "POST", server.URL+"/orders_cleanup", timer); status != 404 {
		t.Errorf("clean-up: %d", status)
	}
}

// Only outboxes have the further functions, and a poller that has such a name by itself keeps it.
func TestFurtherFunctionsAreThoseOfOutboxes(t *testing.T) {
	var c console
	cfg := (&fanned{}).config()
	cfg.Pollers[0].Fanout = nil
	cfg.Pollers = append(cfg.Pollers,
		handler.Poller{Name: "stock", Outputs: []string{""}, Runner: ends(poller.FetchEmpty, nil)},
		handler.Poller{Name: "stock_cleanup", Outputs: []string{""}, Runner: ends(poller.FetchEmpty, nil)})
	server := serve(t, &c, cfg)
	for function, want := range map[string]int{
		"orders": 200, "Orders_Cleanup": 200, "orders_partition": 404, "stock_cleanup": 200, "stock_partition": 404,
		"absent_cleanup": 404, "_cleanup": 404,
	} {
		if status, body := do(t, "POST", server.URL+"/"+function, timer); status != want {
			t.Errorf("%s: %d %v, want %d", function, status, body, want)
		}
	}
}

func TestOutboxFiguresAreGauges(t *testing.T) {
	m := handler.NewMetrics(new(console).logger())
	m.PrepareOutbox("orders")
	now := time.Now()
	report := poller.Report{Poller: "orders", Event: poller.TickComplete, Ended: now, Parked: -1, NullCursors: -1,
		Outbox: &poller.OutboxFigures{
			Pending: 4, Failed: 1, Waiting: 100_000, Dead: 2, OldestPending: 90 * time.Second,
		}}
	expect := func(what, pending, oldest string) {
		t.Helper()
		if err := testutil.CollectAndCompare(m, strings.NewReader(`
# HELP rowrelay_outbox_oldest_pending_seconds Age of the oldest pending event; 0 when there is none.
# TYPE rowrelay_outbox_oldest_pending_seconds gauge
rowrelay_outbox_oldest_pending_seconds{poller="orders"} `+oldest+`
# HELP rowrelay_outbox_pending Events to be published, when last counted.
# TYPE rowrelay_outbox_pending gauge
rowrelay_outbox_pending{poller="orders"} `+pending+`
`), "rowrelay_outbox_pending", "rowrelay_outbox_oldest_pending_seconds"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect("before the first tick", "0", "0")
	m.Observe(&report)
	expect("counted", "4", "90")
	m.Observe(&poller.Report{Poller: "orders", Event: poller.LeaseAcquireSkipped, Ended: now.Add(time.Minute), Parked: -1,
		NullCursors: -1})
	expect("a moment after", "4", "90")
	m.Observe(&poller.Report{Poller: "orders", Event: poller.LeaseAcquireSkipped, Ended: now.Add(time.Hour), Parked: -1,
		NullCursors: -1})
	expect("another instance does the work", "0", "0")
}

// nastyID is an id with all that a shell would act upon.
const (
	nastyID     = "$(echo run) `echo run` 'a' \"b\" \\ ! *\n; echo run"
	quotedNasty = "'$(echo run) `echo run` '\\''a'\\'' \"b\" \\ ! *\n; echo run'"
)

// The command in a dead letter's line can be typed as it is, whatever the event's key.
func TestDeadLettersAreNamedForAShell(t *testing.T) {
	mapped, err := json.Marshal(map[string]string{"id": nastyID})
	if err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]change.Event{
		"7": {ID: "order-placed-42", Key: []byte(`{"seq":7}`),
			Outbox: &change.Outbox{IdempotencyKey: "order-placed-42"}},
		"8":         {ID: "9", Key: []byte(`{"seq":8}`), Outbox: &change.Outbox{IdempotencyKey: "9"}},
		"3f":        {ID: "k-0f3b", Key: []byte(`{"id":"3f"}`), Outbox: &change.Outbox{IdempotencyKey: "ü"}},
		quotedNasty: {ID: "k-0f3c", Key: mapped, Outbox: &change.Outbox{IdempotencyKey: "n"}},
	} {
		var c console
		cfg := (&fanned{}).config()
		cfg.Pollers[0].Fanout = nil
		cfg.Pollers[0].Runner = runner(func(context.Context) []poller.Report {
			return []poller.Report{{Poller: "orders", Event: poller.TickComplete, Parked: -1, NullCursors: -1,
				DeadLettered: []poller.DeadLetter{{Poller: "orders", Event: e}}}}
		})
		do(t, "POST", serve(t, &c, cfg).URL+"/orders", timer)
		if next := fmt.Sprint(c.err()[0]["next"]); !strings.Contains(next, "requeue orders --id "+want+"`") {
			t.Errorf("want --id %s: %s", want, next)
		}
	}
}

// What operators are told to do about a failure is what there is for outboxes.
func TestOutboxFailuresNameOutboxCommands(t *testing.T) {
	for _, r := range []poller.Report{
		{Event: poller.LeaseAcquireFailed}, {Event: poller.FetchFailed}, {Event: poller.CommitFailed},
		{Event: poller.LostLease},
		{Event: poller.HandlerFailed, Reason: "refused"},
		{Event: poller.TickComplete, DeadLettered: []poller.DeadLetter{{Poller: "orders", Event: change.Event{ID: "k1"}}}},
	} {
		var c console
		cfg := (&fanned{}).config()
		cfg.Pollers[0].Fanout = nil
		r.Poller, r.Parked, r.NullCursors, r.Err = "orders", -1, -1, errors.New("something")
		cfg.Pollers[0].Runner = runner(func(context.Context) []poller.Report { return []poller.Report{r} })
		do(t, "POST", serve(t, &c, cfg).URL+"/orders", timer)
		lines := c.err()
		if len(lines) != 1 {
			t.Fatalf("%s: said %v", r.Event, lines)
		}
		next := fmt.Sprint(lines[0]["next"])
		if next == "" || strings.Contains(next, "state store") || strings.Contains(next, "rowrelay deadletter") ||
			strings.Contains(next, "checkpoint") {
			t.Errorf("%s: next is %q", r.Event, next)
		}
		if len(r.DeadLettered) > 0 && !strings.Contains(next, "rowrelay outbox requeue orders --key k1") {
			t.Errorf("a dead letter's next is %q", next)
		}
	}
}

// While nothing is published, the timer counts: dead letters are to be seen on an idle outbox too, and that it is
// paused.
func TestFanOutCountsAndSaysThatItIsPaused(t *testing.T) {
	var c console
	f := &fanned{of: 64, paused: true}
	server := serve(t, &c, f.config())
	for range 3 {
		if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	if f.abouts != 1 || len(f.messages) != 0 {
		t.Errorf("counted %d times in a moment, messages %q", f.abouts, f.messages)
	}
	if lines := c.out(); len(lines) != 3 || lines[2]["event"] != "paused" {
		t.Errorf("said %v", lines)
	}
	if err := testutil.ScrapeAndCompare(server.URL+"/metrics", strings.NewReader(`
# HELP rowrelay_outbox_dead Dead letters.
# TYPE rowrelay_outbox_dead gauge
rowrelay_outbox_dead{poller="orders"} 2
# HELP rowrelay_paused 1 while an operator has the poller paused.
# TYPE rowrelay_paused gauge
rowrelay_paused{output="",poller="orders"} 1
`), "rowrelay_outbox_dead", "rowrelay_paused"); err != nil {
		t.Error(err)
	}
}
