package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
)

// deliver sends three events to a receiver that answers so, and returns what became of each: "" for accepted.
func deliver(t *testing.T, h http.HandlerFunc) ([]string, *poller.DeliveryError) {
	t.Helper()
	r := newReceiver(t, h)
	o := open(t, webhook.Config{URL: r.URL})
	err := o.Deliver(t.Context(), outputtest.Delivery(0, 3))
	outcomes := make([]string, 3)
	if err == nil {
		return outcomes, nil
	}
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("%T: %v", err, err)
	}
	for _, f := range failure.Failed {
		outcomes[f.Index] = fmt.Sprintf("%s %d", f.Cause, f.Status)
		if (f.Err != nil) != f.Named {
			t.Errorf("event %d, named: %t, has the error %v", f.Index, f.Named, f.Err)
		}
		if f.Named {
			outcomes[f.Index] = "named " + outcomes[f.Index]
		}
	}
	return outcomes, failure
}

func each(outcome string) []string { return []string{outcome, outcome, outcome} }

func TestStatus(t *testing.T) {
	for status, want := range map[int]string{
		200: "", 201: "", 202: "", 204: "",
		300: "refused 300", 302: "refused 302", 307: "refused 307",
		400: "refused 400", 401: "refused 401", 403: "refused 403", 404: "refused 404", 409: "refused 409",
		413: "refused 413", 415: "refused 415", 422: "refused 422",
		408: "unavailable 408", 425: "unavailable 425", 429: "unavailable 429",
		500: "unavailable 500", 502: "unavailable 502", 503: "unavailable 503", 504: "unavailable 504",
		599: "unavailable 599",
	} {
		got, failure := deliver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if diff := cmp.Diff(each(want), got); diff != "" {
			t.Errorf("%d: %s", status, diff)
		}
		if want != "" && !strings.Contains(failure.Error(), fmt.Sprint(status)) {
			t.Errorf("%d: the error does not name the status: %v", status, failure)
		}
	}
}

// TestSwitchedProtocols: the connection is the receiver's to keep open, and no deadline ends a read of it.
func TestSwitchedProtocols(t *testing.T) {
	outcomes, failure := deliver(t, outputtest.SwitchProtocols(t))
	diff := cmp.Diff(each("unavailable 101"), outcomes)
	if diff != "" || !strings.Contains(failure.Error(), "answered 101") {
		t.Errorf("%s%v", diff, failure)
	}
}

func TestMends(t *testing.T) {
	for status, mend := range map[int]string{401: "output__headers__", 404: "output__url", 407: "HTTP_PROXY",
		413: "output__batch_bytes", 415: "output__gzip", 429: "output__rate"} {
		if _, failure := deliver(t, answer(status, "", "")); !strings.Contains(failure.Remedy, mend) {
			t.Errorf("%d: %q does not name %s", status, failure.Remedy, mend)
		}
	}
}

// TestOneEventIsTooLarge: a smaller batch would not help.
func TestOneEventIsTooLarge(t *testing.T) {
	o := open(t, webhook.Config{URL: newReceiver(t, answer(http.StatusRequestEntityTooLarge, "", "")).URL})
	var failed *poller.DeliveryError
	if err := o.Deliver(t.Context(), outputtest.Delivery(0, 1)); !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if strings.Contains(failed.Remedy, "batch") || !strings.Contains(failed.Remedy, "output__columns") {
		t.Errorf("what to do is %q", failed.Remedy)
	}
}

func TestAnswerBody(t *testing.T) {
	ids := outputtest.Delivery(0, 3).Events
	const refused, nothing = "named refused 200", "unavailable 200"
	for _, c := range []struct {
		name, contentType, body string
		want                    []string
		says                    string
	}{
		{"by id", "application/json", `{"batchItemFailures":[{"itemIdentifier":"` + ids[1].ID + `"}]}`,
			[]string{"", refused, ""}, ids[1].ID},
		{"by index", "application/json; charset=utf-8",
			`{"batchItemFailures":[{"itemIdentifier":"2"},{"itemIdentifier":"0"},{"itemIdentifier":"2"}]}`,
			[]string{refused, "", refused}, "2 of 3"},
		{"by number", "application/problem+json", `{"batchItemFailures":[{"itemIdentifier":2}]}`, []string{"", "", refused},
			""},
		{".NET casing", "Application/JSON", `{"BatchItemFailures":[{"ItemIdentifier":"1"}]}`, []string{"", refused, ""}, ""},
		{"a member twice", "application/json", `{"batchItemFailures":[{"itemIdentifier":"2"}],"BatchItemFailures":[]}`,
			[]string{"", "", refused}, ""},
		{"a member twice, null last", "application/json",
			`{"BatchItemFailures":[{"itemIdentifier":"0"}],"batchItemFailures":null}`, []string{refused, "", ""}, ""},
		{"all", "application/json", `{"batchItemFailures":[{"itemIdentifier":"0"},{"itemIdentifier":"1"},{"itemIdentifier":"2"}]}`, each(refused), ""},
		{"none", "application/json", `{"batchItemFailures":[]}`, each(""), ""},
		{"null", "application/json", `{"batchItemFailures":null}`, each(""), ""},
		{"other members", "application/json", `{"ok":true}`, each(""), ""},
		{"empty body", "application/json", ``, each(""), ""},
		{"not an object", "application/json", ` ["fine"]`, each(""), ""},
		{"byte order mark, which .NET's StreamWriter begins with", "application/json",
			"\ufeff" + `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, []string{"", refused, ""}, ""},
		{"not JSON, not read", "text/plain", `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, each(""), ""},
		{"malformed", "application/json", `{"batchItemFailures":[{"itemIdentifier":"1"}]`, each(nothing), "malformed"},
		{"trailing", "application/json", `{"ok":true} x`, each(nothing), "malformed"},
		{"unknown id", "application/json", `{"batchItemFailures":[{"itemIdentifier":"1"},{"itemIdentifier":"nobody"}]}`,
			each(nothing), `"nobody"`},
		{"index beyond", "application/json", `{"batchItemFailures":[{"itemIdentifier":"3"}]}`, each(nothing), `"3"`},
		{"negative", "application/json", `{"batchItemFailures":[{"itemIdentifier":"-1"}]}`, each(nothing), `"-1"`},
		{"not canonical", "application/json", `{"batchItemFailures":[{"itemIdentifier":"01"}]}`, each(nothing), `"01"`},
		{"no identifier", "application/json", `{"batchItemFailures":[{}]}`, each(nothing), "itemIdentifier"},
		{"null identifier", "application/json", `{"batchItemFailures":[{"itemIdentifier":null}]}`, each(nothing),
			"itemIdentifier"},
		{"wrong shape", "application/json", `{"batchItemFailures":{"itemIdentifier":"1"}}`, each(nothing),
			"batchItemFailures"},
		{"wrong entries", "application/json", `{"batchItemFailures":["1"]}`, each(nothing), "batchItemFailures"},
		{"too long", "application/json", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, each(nothing),
			"longer than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, failure := deliver(t, answer(200, c.contentType, c.body))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%v", diff, failure)
			}
			if failure != nil && !strings.Contains(failure.Error(), c.says) {
				t.Errorf("%q does not say %q", failure, c.says)
			}
		})
	}
}

// A JSON answer that breaks off says nothing about any event.
func TestAnswerBodyBreaksOff(t *testing.T) {
	got, failure := deliver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"batchItemFailures":[]`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if diff := cmp.Diff(each("unavailable 200"), got); diff != "" || !errors.Is(failure, io.ErrUnexpectedEOF) {
		t.Errorf("%s\n%v", diff, failure)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, status := range []int{429, 503, 500} {
		_, failure := deliver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "17")
			w.WriteHeader(status)
		})
		if failure.RetryAfter != 17*time.Second {
			t.Errorf("%d: %s", status, failure.RetryAfter)
		}
	}
}

func TestRedirectIsRefusedAndNotFollowed(t *testing.T) {
	followed := newReceiver(t, nil)
	for location, says := range map[string]string{
		followed.URL + "/x?code=s3cret-code": followed.URL,
		"/login?code=s3cret-code":            "another path of the same host",
		"http://u:s3cret-code@[::1/":         "not a URL",
		"":                                   "nowhere",
	} {
		_, failure := deliver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusPermanentRedirect)
		})
		if text := failure.Error(); !strings.Contains(text, says) || strings.Contains(text, "s3cret") ||
			!strings.Contains(failure.Remedy, "output__url") {
			t.Errorf("%s: %s: %s", location, text, failure.Remedy)
		}
	}
	if n := len(followed.seen()); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// How long an attempt may take is the caller's business; its error tells what the caller gives as the cause.
func TestDeadlineTellsItsCause(t *testing.T) {
	hold := make(chan struct{})
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-hold })
	defer close(hold)
	o := open(t, webhook.Config{URL: r.URL})
	over := errors.New("no answer within 50ms (output__timeout)")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, over)
	defer cancel()
	err := o.Deliver(ctx, outputtest.Delivery(0, 1))
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) || failure.Failed[0].Cause != poller.Unavailable || !errors.Is(err, over) ||
		!strings.Contains(err.Error(), over.Error()) {
		t.Errorf("%v", err)
	}
}

// TestAProxyThatIsDown: it is not the receiver's fault, and no setting of the output's.
func TestAProxyThatIsDown(t *testing.T) {
	if os.Getenv("ROWRELAY_TEST_PROXY_DOWN") == "" { // net/http reads the variables once in a process
		cmd := exec.Command(os.Args[0], "-test.run=^TestAProxyThatIsDown$")
		cmd.Env = append(os.Environ(), "ROWRELAY_TEST_PROXY_DOWN=1", "HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	var failure *poller.DeliveryError
	err := open(t, webhook.Config{URL: "http://receiver.example/"}).Deliver(t.Context(), outputtest.Delivery(0, 1))
	if !errors.As(err, &failure) || !strings.Contains(failure.Remedy, "HTTP_PROXY") {
		t.Errorf("%v", err)
	}
}

// TestAPageIsDoubted: a login page that answers 200 takes nothing, and is told once. A receiver may say "ok" in HTML.
func TestAPageIsDoubted(t *testing.T) {
	for body, doubted := range map[string]bool{
		"<!DOCTYPE html><title>Sign in</title>": true, "\n <html lang=en>" + strings.Repeat(" ", 1000): true,
		"ok": false, "<b>ok</b>": false, "": false,
	} {
		r := newReceiver(t, answer(200, "text/html; charset=utf-8", body))
		var told []string
		o := open(t, webhook.Config{URL: r.URL, Doubt: func(text string) { told = append(told, text) }})
		for range 2 {
			if err := o.Deliver(t.Context(), outputtest.Delivery(0, 1)); err != nil {
				t.Error(err)
			}
		}
		if len(told) > 1 || len(told) == 1 != doubted {
			t.Errorf("%q: %q", body, told)
		}
	}
}

// A connection that is closed instead of an answer: "EOF" alone says that to nobody who does not program.
func TestConnectionClosedInsteadOfAnAnswer(t *testing.T) {
	_, failure := deliver(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if !errors.Is(failure, io.EOF) || !strings.Contains(failure.Error(), "closed the connection without an answer") {
		t.Errorf("%v", failure)
	}
}

// An answer that never ends does not hold a delivery up: its status has accepted the events.
func TestEndlessAnswerIsNotReadToItsEnd(t *testing.T) {
	got, failure := deliver(t, func(w http.ResponseWriter, q *http.Request) {
		for q.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	if diff := cmp.Diff(each(""), got); diff != "" {
		t.Errorf("%s\n%v", diff, failure)
	}
}

// A body that drips does not hold a delivery up either, where the status has decided: the test's context never
// ends.
func TestDrippingAnswerIsNotWaitedFor(t *testing.T) {
	for status, want := range map[int]string{200: "", 400: "refused 400", 503: "unavailable 503"} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel() // each waits for its answer for as long as the output does
			hold := make(chan struct{})
			r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "the beginning")
				_ = http.NewResponseController(w).Flush()
				<-hold
			})
			err := open(t, webhook.Config{URL: r.URL}).Deliver(t.Context(), outputtest.Delivery(0, 1))
			close(hold)
			got := ""
			if failure, ok := errors.AsType[*poller.DeliveryError](err); ok {
				got = fmt.Sprintf("%s %d", failure.Failed[0].Cause, failure.Failed[0].Status)
				if !strings.Contains(err.Error(), "the beginning") {
					t.Errorf("no excerpt in %v", err)
				}
			}
			if got != want {
				t.Errorf("%q, want %q (%v)", got, want, err)
			}
		})
	}
}

// Deliveries one after the other use one connection, whatever the answers are.
func TestConnectionIsReused(t *testing.T) {
	r := newReceiver(t, nil)
	o := open(t, webhook.Config{URL: r.URL})
	for _, h := range []http.HandlerFunc{
		answer(200, "", ""), answer(200, "text/html", strings.Repeat("x", 10000)),
		answer(200, "application/json", `{"ok":1}`),
		answer(500, "text/html", strings.Repeat("x", 10000)), answer(400, "application/json", `{"error":"no"}`),
		answer(302, "", "moved"), answer(204, "", ""),
	} {
		r.respond(h)
		_ = o.Deliver(t.Context(), outputtest.Delivery(0, 2)) // the outcomes are tested elsewhere
	}
	peers := map[string]int{}
	for _, q := range r.seen() {
		peers[q.peer]++
	}
	if len(peers) != 1 {
		t.Errorf("requests by connection: %v", peers)
	}
}
