package handler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

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
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/orders",
			strings.NewReader(`{"Data":{},"Metadata":{}}`))
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
		"of the poller": {handler.Config{Pollers: []handler.Poller{orders}}, "orders", 2,
			[]string{"source__table"}},
		"of all": {handler.Config{Pollers: []handler.Poller{orders}, Faults: []error{general}},
			"orders", 2, []string{"2 faults", "state__kind", "source__table"}},
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
