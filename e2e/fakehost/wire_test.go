package fakehost_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
)

// told are the members by which an auditor says what it was given, one list for each invocation.
func told(host *fakehost.Host) (all [][]string) {
	const members = 16
	var list []string
	for _, line := range host.Logs() {
		if line.Source == "logs" {
			list = append(list, line.Text)
		}
	}
	for ; len(list) >= members; list = list[members:] {
		all = append(all, list[:members])
	}
	return all
}

// invocation is a body that the worker was given.
type invocation struct {
	Data     map[string]json.RawMessage
	Metadata map[string]json.RawMessage
}

func bodyOf(t *testing.T, text string) (inv invocation) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &inv); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return inv
}

// wants compares members of the metadata, as JSON; "" is a member that must not be there.
func (inv *invocation) wants(t *testing.T, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got := string(inv.Metadata[name]); got != text {
			t.Errorf("Metadata.%s is %s, want %s", name, got, text)
		}
	}
}

func TestQueueMetadata(t *testing.T) {
	host := start(t, app(t, "auditor", nil))
	result := host.InvokeWith(t.Context(), "worker",
		fakehost.Invocation{Message: `{"id":7,"poller":"orders","of":{"a":1},"list":[1, 2]}`})
	if !result.Succeeded {
		t.Fatal(result)
	}
	inv := bodyOf(t, told(host)[0][1])
	inv.wants(t, map[string]string{
		"Id": `"\"7\""`, "id": "", "poller": `"\"orders\""`, "of": `{"a":1}`, "list": `"[1, 2]"`, "DequeueCount": `"1"`,
		"QueueTrigger": "", "RetryContext": "",
	})
	for _, name := range []string{"NextVisibleTime", "InsertionTime", "ExpirationTime", "PopReceipt"} {
		if inv.Metadata[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}

func TestCallByHand(t *testing.T) {
	options := app(t, "auditor", nil)
	options.Keys.Master = "k"
	host := start(t, options)
	front := httptest.NewServer(host.Front())
	defer front.Close()
	call := func(key, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/admin/functions/orders",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-functions-key", key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if got := call("other", "{}"); got != http.StatusUnauthorized {
		t.Errorf("without the key: %d", got)
	}
	for n, c := range []struct{ body, want string }{{`{}`, ""}, {`{"input":""}`, `"\"\""`}} {
		if got := call("k", c.body); got != http.StatusAccepted {
			t.Fatalf("%s: %d", c.body, got)
		}
		if _, err := host.AwaitLine(t.Context(), func(fakehost.Line) bool { return len(told(host)) > n }); err != nil {
			t.Fatal(err)
		}
		inv := bodyOf(t, told(host)[n][1])
		inv.wants(t, map[string]string{"timer": c.want})
		if timer := string(inv.Data["timer"]); !strings.HasPrefix(timer, `{"Schedule":`) {
			t.Errorf("%s: Data.timer is %s", c.body, timer)
		}
	}
}

// A function with a retry policy is told so from its first attempt on, and all attempts have one invocation id.
func TestRetryPolicy(t *testing.T) {
	policy := strings.Replace(timerJSON, `{"bindings"`,
		`{"retry":{"strategy":"fixedDelay","maxRetryCount":2,"delayInterval":"00:00:00"},"bindings"`, 1)
	host := start(t, app(t, "failing auditor", map[string]string{"orders/function.json": policy}))
	result := host.Invoke(t.Context(), "orders")
	if result.Succeeded || result.Attempts != 3 {
		t.Fatal(result)
	}
	host.Close()
	var contexts []string
	ids := map[string]bool{}
	for _, line := range host.Logs() {
		id, body, ok := strings.Cut(line.Text, " ")
		if line.Source != "stdout" || !ok {
			continue
		}
		inv := bodyOf(t, body)
		ids[id], contexts = true, append(contexts, string(inv.Metadata["RetryContext"]))
	}
	if len(contexts) != 3 || len(ids) != 1 || !ids[result.InvocationID] {
		t.Fatalf("%d attempts with the ids %v", len(contexts), ids)
	}
	if want := `{"RetryCount":0,"MaxRetryCount":2,"Exception":null,"Instance":null,"State":{}}`; contexts[0] != want {
		t.Errorf("the first attempt is told %s, want %s", contexts[0], want)
	}
	var last struct {
		RetryCount int
		Exception  struct{ ClassName string }
	}
	if err := json.Unmarshal([]byte(contexts[2]), &last); err != nil || last.RetryCount != 2 ||
		last.Exception.ClassName == "" {
		t.Errorf("the last attempt is told %s (%v)", contexts[2], err)
	}
	for name, bad := range map[string]string{
		"strategy": `{"strategy":"often","maxRetryCount":2}`, "count": `{"strategy":"fixedDelay","delayInterval":"00:00:01"}`,
		"delay": `{"strategy":"exponentialBackoff","maxRetryCount":2,"minimumInterval":"1s"}`,
	} {
		text := strings.Replace(timerJSON, `{"bindings"`, `{"retry":`+bad+`,"bindings"`, 1)
		if err := start(t, app(t, "good",
			map[string]string{"orders/function.json": text})).Functions()["orders"]; err == nil {
			t.Errorf("%s: the policy was taken", name)
		}
	}
}

const httpJSON = `{"bindings":[{"type":"httpTrigger","direction":"in","name":"req","authLevel":"function","route":"page/{which:regex(^a|b$)}"},
	{"type":"http","direction":"out","name":"res"}]}`

func TestHTTPFunction(t *testing.T) {
	for name, c := range map[string]struct {
		open       bool
		key        string
		claims     []string
		wantStatus int
	}{
		"a stranger": {wantStatus: http.StatusUnauthorized},
		"a function key": {key: "f", claims: []string{"authlevel=Function", "invoke=true", "keyid=default"},
			wantStatus: http.StatusNoContent},
		"func start": {open: true, claims: []string{"authlevel=Admin", "invoke=true"},
			wantStatus: http.StatusNoContent},
		"func start and a key": {open: true, key: "f", claims: []string{"authlevel=Admin", "invoke=true", "keyid=default"},
			wantStatus: http.StatusNoContent},
	} {
		t.Run(name, func(t *testing.T) {
			options := app(t, "auditor", map[string]string{"page/function.json": httpJSON})
			options.Keys, options.Open = fakehost.Keys{Master: "m", Function: "f"}, c.open
			host := start(t, options)
			front := httptest.NewServer(host.Front())
			defer front.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/api/page/b?n=1&n=2&code=x",
				strings.NewReader(`{"which":"c","deep":{"x":1},"flag":true}`))
			if err != nil {
				t.Fatal(err)
			}
			if c.key != "" {
				req.Header.Set("x-functions-key", c.key)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != c.wantStatus {
				t.Fatalf("%d, want %d", res.StatusCode, c.wantStatus)
			}
			if c.claims == nil {
				return
			}
			host.Close()
			given := told(host)[0]
			if !strings.HasPrefix(given[15], "00-") {
				t.Errorf("traceparent %q", given[15])
			}
			inv := bodyOf(t, given[1])
			inv.wants(t, map[string]string{
				"which": `"\"b\""`, "deep": `{"x":1}`, "flag": `"\"true\""`, "n": `"\"2\""`, "code": "",
				"Query": `{"code":"x","n":"2"}`,
			})
			var request struct {
				Query      map[string]string
				Identities []struct {
					Claims []struct{ Type, Value string }
				}
			}
			if err := json.Unmarshal(inv.Data["req"], &request); err != nil || request.Query["n"] != "1,2" ||
				len(request.Identities) != 1 {
				t.Fatalf("%v: %s", err, inv.Data["req"])
			}
			var claims []string
			for _, claim := range request.Identities[0].Claims {
				claims = append(claims, claim.Type[strings.LastIndexByte(claim.Type, '/')+1:]+"="+claim.Value)
			}
			if got, want := strings.Join(claims, " "), strings.Join(c.claims, " "); got != want {
				t.Errorf("claims %s, want %s", got, want)
			}
		})
	}
}

// A new directory beside host.json restarts the JobHost: another port, another worker, and functions indexed anew.
func TestANewDirectoryRestartsTheJobHost(t *testing.T) {
	host := start(t, app(t, "new directory", nil))
	url := host.URL()
	for range 3 {
		if result := host.Invoke(t.Context(), "orders"); !result.Succeeded {
			t.Fatal(result)
		}
	}
	if host.JobHosts() != 2 || host.Restarts() != 1 || host.URL() == url || host.Stopped() != nil {
		t.Errorf("%d JobHosts, %d restarts, stopped %v", host.JobHosts(), host.Restarts(), host.Stopped())
	}
}

func TestAFunctionCannotBeNamedHost(t *testing.T) {
	host := start(t, app(t, "good", map[string]string{"Host/function.json": timerJSON}))
	if err := host.Functions()["Host"]; err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("got %v", err)
	}
}
