package handler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

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
		{poller.Report{Event: poller.HandlerFailed, Reason: "unavailable", Output: "audit"},
			"pollers__orders__outputs__audit__"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "refused"}, "mend the receiver"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "refused"}, "pollers__orders__max_attempts"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "impossible"}, "pollers__orders__source__columns"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "impossible"}, "dead letter"},
		{poller.Report{Event: poller.HandlerFailed, Reason: "unavailable"}, "no attempt was counted"},
		{poller.Report{Event: poller.HandlerFailed, Reason: poller.NotFound, Remedy: "check output__url", Output: "audit"},
			"check pollers__orders__outputs__audit__url"},
		{poller.Report{Event: poller.HandlerFailed, Err: errors.New("max_parked")}, "do as the error says"},
		{poller.Report{Event: poller.FetchFailed}, "pollers__orders__source__connection"},
		{poller.Report{Event: poller.ConfigInvalid}, "`rowrelay check` shows them all"},
		{poller.Report{Event: poller.CommitFailed}, "state__connection"},
		{poller.Report{Event: poller.LostLease}, "another instance took over, or this one could not renew its lease in time"},
		{poller.Report{Event: poller.LostLease}, "pollers__orders__lease_ttl"},
	} {
		var c console
		test.report.Poller = "orders"
		server := serve(t, &c, one(runner(func(context.Context) []poller.Report { return []poller.Report{test.report} })))
		do(t, "POST", server.URL+"/orders", timer)
		next := fmt.Sprint(c.err()[0]["next"])
		if test.report.Event == poller.ConfigInvalid && strings.Contains(next, "purge") {
			t.Errorf("a wrong password is no reason to purge: %q", next)
		}
		if !strings.Contains(next, test.mend) {
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
	if out, failed := c.out(), c.err(); len(out) != 1 || out[0]["output"] != "a" || len(failed) != 1 ||
		failed[0]["output"] != "b" {
		t.Errorf("one line for each output, please; got %v and %v", out, failed)
	}
}

// The line of a tick has every member that docs/operations.md promises.
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
	if w := c.err(); len(w) != 1 || w[0]["level"] != "WARN" || w[0]["msg"] != "no index serves the order" ||
		w[0]["poller"] != "orders" {
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

// A dropped connection says nothing about the rows: the tick goes on.
func TestTickOutlivesItsRequest(t *testing.T) {
	var c console
	begun, gone := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	h := handler.New(t.Context(), handler.Config{Log: c.logger(),
		Pollers: []handler.Poller{{Name: "orders", Runner: runner(
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
