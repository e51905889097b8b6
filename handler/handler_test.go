package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

// runner is a Runner made of a function.
type runner func(ctx context.Context) []poller.Report

func (r runner) Run(ctx context.Context) []poller.Report { return r(ctx) }

func ends(event poller.Event, err error) runner {
	return func(context.Context) []poller.Report {
		return []poller.Report{{Poller: "orders", Output: "output", Event: event, Err: err, Parked: -1, NullCursors: -1}}
	}
}

// console is what the process wrote, as the host would read it.
type console struct {
	mu             sync.Mutex
	stdout, stderr bytes.Buffer
}

type stream struct {
	c *console
	b *bytes.Buffer
}

func (s stream) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.b.Write(p)
}

func (c *console) logger() *slog.Logger {
	return handler.NewHostLogger(stream{c, &c.stdout}, stream{c, &c.stderr}, slog.LevelDebug)
}

func (c *console) lines(b *bytes.Buffer) []map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []map[string]any
	for line := range strings.Lines(b.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			record = map[string]any{"not JSON": line}
		}
		list = append(list, record)
	}
	return list
}

func (c *console) out() []map[string]any { return c.lines(&c.stdout) }
func (c *console) err() []map[string]any { return c.lines(&c.stderr) }

func serve(t *testing.T, c *console, cfg handler.Config) *httptest.Server {
	t.Helper()
	cfg.Log = c.logger()
	server := httptest.NewServer(handler.New(t.Context(), cfg))
	t.Cleanup(server.Close)
	return server
}

func one(r handler.Runner) handler.Config {
	return handler.Config{Pollers: []handler.Poller{{Name: "orders", Outputs: []string{"output"}, Runner: r}}}
}

const timer = `{"Data":{"timer":{"Schedule":{"AdjustForDST":true},"ScheduleStatus":null,"IsPastDue":false}},"Metadata":{"sys":{"MethodName":"orders"}}}`

func do(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Azure-Functions-InvocationId", "8f0a")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // read to its end below
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q; the host fails an invocation that is not answered with application/json", got)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		t.Fatalf("the answer %q is not a JSON object (%v); the host would wait for one until it kills the process", data, err)
	}
	return res.StatusCode, object
}

// Every event that a tick can end as has its status, and every failure says what and what next on stderr, once.
func TestAnswers(t *testing.T) {
	for event, status := range map[poller.Event]int{
		poller.TickComplete:         200,
		poller.FetchEmpty:           200,
		poller.LeaseAcquireSkipped:  200,
		poller.Paused:               200,
		poller.LeaseAcquireFailed:   500,
		poller.CheckpointLoadFailed: 500,
		poller.FetchFailed:          500,
		poller.NormalizeFailed:      500,
		poller.HandlerFailed:        500,
		poller.CommitFailed:         500,
		poller.LostLease:            500,
		poller.FingerprintMismatch:  500,
		poller.SourceGap:            500,
		poller.ConfigInvalid:        500,
		poller.Event("unheard_of"):  500,
	} {
		t.Run(string(event), func(t *testing.T) {
			var c console
			server := serve(t, &c, one(ends(event, errors.New("something happened"))))
			got, body := do(t, "POST", server.URL+"/orders", timer)
			if got != status {
				t.Fatalf("status %d, want %d", got, status)
			}
			if status == 200 {
				if len(body) != 0 {
					t.Errorf("a success is %v, want {}", body)
				}
				if len(c.err()) != 0 || len(c.out()) != 1 {
					t.Errorf("one line on stdout, none on stderr, please; got %v and %v", c.out(), c.err())
				}
				return
			}
			lines := c.err()
			if len(lines) != 1 {
				t.Fatalf("one line on stderr, please; got %v", lines)
			}
			for member, want := range map[string]string{
				"event": string(event), "poller": "orders", "output": "output", "invocation_id": "8f0a", "level": "ERROR",
				"error": "something happened",
			} {
				if lines[0][member] != want {
					t.Errorf("%s is %v, want %s", member, lines[0][member], want)
				}
			}
			if text, _ := lines[0]["next"].(string); text == "" {
				t.Error("the line does not say what to do next")
			}
			failures, _ := body["failures"].([]any)
			if len(failures) != 1 || body["error"] == "" {
				t.Errorf("the body does not say what failed: %v", body)
			}
		})
	}
}

// What the operator is told to do next names the commands and settings that there are.
func TestNextNamesTheMend(t *testing.T) {
	for _, test := range []struct {
		report poller.Report
		mend   string
	}{
		{poller.Report{Event: poller.FingerprintMismatch}, "`rowrelay state accept-fingerprint orders`"},
		{poller.Report{Event: poller.SourceGap}, "`rowrelay state accept-gap orders`"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "unavailable"}, "pollers__orders__output__"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "unavailable", Output: "audit"}, "pollers__orders__outputs__audit__"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "refused"}, "mend the receiver"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "refused"}, "pollers__orders__max_attempts"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "impossible"}, "pollers__orders__source__columns"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "impossible"}, "dead letter"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "unavailable"}, "no attempt was counted"},
		{poller.Report{Event: poller.HandlerFailed, Err: errors.New("max_parked")}, "do as the error says"},
		{poller.Report{Event: poller.FetchFailed}, "pollers__orders__source__connection"},
		{poller.Report{Event: poller.CommitFailed}, "state__connection"},
		{poller.Report{Event: poller.LostLease}, "another instance took over, or this one could not renew its lease in time"},
		{poller.Report{Event: poller.LostLease}, "pollers__orders__lease_ttl"},
	} {
		var c console
		test.report.Poller = "orders"
		server := serve(t, &c, one(runner(func(context.Context) []poller.Report { return []poller.Report{test.report} })))
		do(t, "POST", server.URL+"/orders", timer)
		if next := fmt.Sprint(c.err()[0]["next"]); !strings.Contains(next, test.mend) {
			t.Errorf("%s %s: %q does not say %q", test.report.Event, test.report.Reason, next, test.mend)
		}
	}
}

// Several outputs are several sessions: the invocation fails if any failed, and each has its own line.
func TestOneFailedOutputFailsTheInvocation(t *testing.T) {
	var c console
	server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
		return []poller.Report{
			{Poller: "orders", Output: "a", Event: poller.TickComplete, Rows: 3},
			{Poller: "orders", Output: "b", Event: poller.HandlerFailed, Reason: "refused", Err: errors.New("422")},
		}
	})))
	status, _ := do(t, "POST", server.URL+"/orders", timer)
	if status != 500 {
		t.Errorf("status %d, want 500", status)
	}
	if out, failed := c.out(), c.err(); len(out) != 1 || out[0]["output"] != "a" || len(failed) != 1 || failed[0]["output"] != "b" {
		t.Errorf("one line for each output, please; got %v and %v", out, failed)
	}
}

// The line of a tick has every member that DESIGN.md promises.
func TestTickLine(t *testing.T) {
	var c console
	begin := time.Date(2026, 4, 7, 1, 23, 45, 0, time.UTC)
	server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
		return []poller.Report{{
			Poller: "orders", Output: "output", Event: poller.TickComplete, BatchID: "batch_1", Token: 42, Rows: 7,
			After: change.Cursor(`{"kind":"integer+pk","value":9}`), Batches: []poller.BatchStats{{Rows: 7}},
			Started: begin, Ended: begin.Add(1500 * time.Microsecond), Warnings: []string{"no index serves the order"},
		}}
	})))
	if status, _ := do(t, "POST", server.URL+"/ORDERS", timer); status != 200 {
		t.Fatalf("status %d: function names are compared without regard to case", status)
	}
	got := c.out()[0]
	for member, want := range map[string]any{
		"event": "tick_complete", "batch_id": "batch_1", "fencing_token": 42.0, "rows": 7.0, "duration_ms": 1.5,
		"checkpoint_before": "(beginning)", "checkpoint_after": `{"kind":"integer+pk","value":9}`, "invocation_id": "8f0a",
	} {
		if got[member] != want {
			t.Errorf("%s is %v, want %v", member, got[member], want)
		}
	}
	if w := c.err(); len(w) != 1 || w[0]["level"] != "WARN" || w[0]["msg"] != "no index serves the order" || w[0]["poller"] != "orders" {
		t.Errorf("the report's warning has a line of its own, please; got %v", w)
	}
}

func TestReadyTouchesNothing(t *testing.T) {
	var c console
	server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
		t.Error("the probe ran a tick")
		return nil
	})))
	if status, _ := do(t, "GET", server.URL+"/", ""); status != 200 {
		t.Errorf("status %d", status)
	}
	if len(c.out())+len(c.err()) != 0 {
		t.Error("the host asks often: a probe writes no log line")
	}
}

func TestUnknownFunctionNamesTheMend(t *testing.T) {
	var c console
	server := serve(t, &c, handler.Config{Pollers: []handler.Poller{{Name: "orders"}, {Name: "customers"}}})
	status, body := do(t, "POST", server.URL+"/order", timer)
	if status != 404 {
		t.Errorf("status %d, want 404", status)
	}
	lines := c.err()
	if len(lines) != 1 {
		t.Fatalf("one line on stderr, please; got %v", lines)
	}
	for _, text := range []string{fmt.Sprint(body["error"]), fmt.Sprint(lines[0]["error"])} {
		if !strings.Contains(text, "customers, orders") || !strings.Contains(text, "folder") {
			t.Errorf("%q does not name the pollers and the mend", text)
		}
	}
}

func TestBodiesThatAreNoInvocation(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		status int
	}{
		"empty":      {"", 400},
		"cut":        {`{"Data":{"timer"`, 400},
		"array":      {`[]`, 400},
		"null":       {`null`, 400},
		"more":       {`{} {}`, 400},
		"form":       {`a=b`, 400},
		"over 1 MiB": {`{"Data":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`, 413},
	} {
		t.Run(name, func(t *testing.T) {
			var c console
			server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
				t.Error("a tick ran")
				return nil
			})))
			status, body := do(t, "POST", server.URL+"/orders", test.body)
			if status != test.status || body["error"] == nil {
				t.Errorf("got %d %v, want %d and an error", status, body, test.status)
			}
			if len(c.err()) != 1 {
				t.Errorf("the host discards the body: one line on stderr, please; got %v", c.err())
			}
		})
	}
}

// A web site can post from the browser of whoever runs `func start`; what it sends says so, and invokes nothing.
func TestABrowserInvokesNothing(t *testing.T) {
	for header, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		var c console
		server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
			t.Error("a tick ran")
			return nil
		})))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/orders", strings.NewReader(`{"Data":{},"Metadata":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(header, value)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden || len(c.err()) != 1 {
			t.Errorf("%s: %s, %v", header, answer.Status, c.err())
		}
	}
}

// A process with faulty settings serves on: it answers the probe, fails the invocation, and says everything at once.
func TestFaultsAnswer500(t *testing.T) {
	fault := errors.New("pollers__orders__source__table is missing: set it to schema.table")
	general := errors.New("state__kind is missing: set it to blob")
	orders := handler.Poller{Name: "orders", Outputs: []string{"a", "b"}, Faults: []error{fault}}
	for name, test := range map[string]struct {
		cfg      handler.Config
		function string
		lines    int
		says     []string
	}{
		"of the poller":                 {handler.Config{Pollers: []handler.Poller{orders}}, "orders", 2, []string{"source__table"}},
		"of all":                        {handler.Config{Pollers: []handler.Poller{orders}, Faults: []error{general}}, "orders", 2, []string{"2 faults", "state__kind", "source__table"}},
		"that hide which pollers exist": {handler.Config{Faults: []error{general}}, "orders", 1, []string{"state__kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			var c console
			server := serve(t, &c, test.cfg)
			if status, _ := do(t, "POST", server.URL+"/"+test.function, timer); status != 500 {
				t.Errorf("status %d, want 500", status)
			}
			if status, _ := do(t, "GET", server.URL+"/", ""); status != 200 {
				t.Errorf("the probe is answered with %d, want 200", status)
			}
			lines := c.err()
			if len(lines) != test.lines {
				t.Fatalf("%d lines on stderr, please; got %v", test.lines, lines)
			}
			for _, part := range test.says {
				if !strings.Contains(fmt.Sprint(lines[0]["error"]), part) || lines[0]["event"] != "config_invalid" {
					t.Errorf("%v does not say %s", lines[0], part)
				}
			}
		})
	}
}

func TestPanicFailsTheInvocationOnly(t *testing.T) {
	var c console
	calls := 0
	server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
		if calls++; calls == 1 {
			panic("nil map\nof a tick")
		}
		return []poller.Report{{Poller: "orders", Output: "output", Event: poller.FetchEmpty}}
	})))
	if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 500 {
		t.Errorf("status %d, want 500", status)
	}
	lines := c.err()
	if len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0]["stack"]), "TestPanicFailsTheInvocationOnly") {
		t.Errorf("one line with the stack, please; got %v", lines)
	}
	if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 200 {
		t.Errorf("after the panic the next tick answers %d, want 200", status)
	}
}

func TestNoReportIsNoSuccess(t *testing.T) {
	var c console
	server := serve(t, &c, one(runner(func(context.Context) []poller.Report { return nil })))
	if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 500 {
		t.Errorf("status %d, want 500", status)
	}
}

// A dropped connection says nothing about the rows: the tick goes on.
func TestTickOutlivesItsRequest(t *testing.T) {
	var c console
	begun, gone := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	h := handler.New(t.Context(), handler.Config{Log: c.logger(), Pollers: []handler.Poller{{Name: "orders", Runner: runner(
		func(ctx context.Context) []poller.Report {
			close(begun)
			<-gone
			ended <- ctx.Err()
			return []poller.Report{{Poller: "orders", Event: poller.TickComplete}}
		})}}})
	// The server tells when it has seen the connection go.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		go func() {
			<-r.Context().Done()
			close(gone)
		}()
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/orders", strings.NewReader(timer))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-begun
		cancel()
	}()
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close()
		t.Fatal("the request was to be dropped")
	}
	if err := <-ended; err != nil {
		t.Errorf("the tick's context ended with its request: %v", err)
	}
}

var errCtrlC = errors.New("interrupted by Ctrl-C")

func TestTickEndsWithTheProcess(t *testing.T) {
	var c console
	lifetime, stop := context.WithCancelCause(t.Context())
	h := handler.New(lifetime, handler.Config{Log: c.logger(), Pollers: []handler.Poller{{Name: "orders", Runner: runner(
		func(ctx context.Context) []poller.Report {
			stop(errCtrlC)
			<-ctx.Done()
			return []poller.Report{{Poller: "orders", Event: poller.HandlerFailed, Err: context.Cause(ctx)}}
		})}}})
	server := httptest.NewServer(h)
	defer server.Close()
	if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 500 {
		t.Errorf("status %d, want 500", status)
	}
	if got := c.err()[0]["error"]; got != errCtrlC.Error() {
		t.Errorf("the tick's cause is %v, want %v", got, errCtrlC)
	}
	if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 503 {
		t.Errorf("an invocation after the end is answered with %d, want 503", status)
	}
}
