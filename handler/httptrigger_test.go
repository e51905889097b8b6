package handler_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

// described is an invocation as the host posts it for an HTTP function with both forwarding flags off.
func described(method, url, body string, identities any) string {
	text, err := json.Marshal(map[string]any{"Data": map[string]any{"req": map[string]any{
		"Url": url, "Method": method, "Query": map[string]string{"a": "1"}, "Params": map[string]any{"page": "status"},
		"Identities": identities, "Body": body,
		"Headers": map[string]any{"Host": []string{"app.example"}, "x-two": []string{"1", "2"},
			"content-type": []string{"text/plain"}, "Rowrelay-Host-Admin": []string{"1"}},
	}}, "Metadata": map[string]any{}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func claim(kind, value string) any {
	return []any{map[string]any{"Claims": []any{map[string]any{"Type": kind, "Value": value, "Issuer": "x"}}}}
}

const level = "http://schemas.microsoft.com/2017/07/functions/claims/authlevel"

func httpHost(t *testing.T, functions map[string]http.Handler, pollers ...handler.Poller) http.Handler {
	return handler.New(t.Context(), handler.Config{Pollers: pollers, HTTP: functions, Log: slog.New(slog.DiscardHandler)})
}

type response struct {
	Outputs map[string]struct {
		StatusCode string
		Body       string
		Headers    map[string]string
	}
}

func invokeHTTP(t *testing.T, h http.Handler, function, body string) (int, response) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+function, strings.NewReader(body)))
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q would fail the invocation", got)
	}
	var r response
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return w.Code, r
}

func TestHTTPFunctionGetsTheDescribedRequestAndItsResponseIsAnOutput(t *testing.T) {
	var got *http.Request
	var text []byte
	h := httpHost(t, map[string]http.Handler{"page": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		text, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "3")
		w.Header().Add("Vary", "a")
		w.Header().Add("Vary", "b")
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "<b>")
	})})
	code, r := invokeHTTP(t, h, "Page",
		described(http.MethodPut, "https://app.example/api/page.json?a=1&b=%20x", "body\n\u00e9", nil))
	if code != http.StatusOK || got == nil {
		t.Fatalf("%d %+v", code, r)
	}
	if got.Method != http.MethodPut || got.URL.Path != "/api/page.json" || got.URL.Query().Get("b") != " x" ||
		got.Host != "app.example" ||
		got.Header.Get("Content-Type") != "text/plain" || len(got.Header.Values("X-Two")) != 2 ||
		string(text) != "body\n\u00e9" {
		t.Errorf("%+v %q", got, text)
	}
	res := r.Outputs["res"]
	if len(r.Outputs) != 1 || res.StatusCode != strconv.Itoa(http.StatusTeapot) || res.Body != "<b>" ||
		res.Headers["Content-Type"] != "text/html" || res.Headers["Vary"] != "a, b" {
		t.Errorf("%+v", r)
	}
	if _, set := res.Headers["Content-Length"]; set {
		t.Error("the host sets Content-Length itself")
	}
}

// TestRequireAdminBelievesTheHostOnly: by the claim that the host itself judges by, whatever headers say.
func TestRequireAdminBelievesTheHostOnly(t *testing.T) {
	acted := 0
	h := httpHost(t, map[string]http.Handler{"act": handler.RequireAdmin(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		acted++
	}))})
	text, err := json.Marshal(claim(level, "Admin"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		identities any
		want       string
	}{
		"none": {nil, "403"}, "empty": {[]any{}, "403"}, "function key": {claim(level, "Function"), "403"},
		"another claim": {claim("role", "Admin"), "403"},
		"admin key":     {claim(level, "Admin"), "200"}, "as JSON text": {string(text), "200"}, "nonsense": {"x", "403"},
	} {
		_, r := invokeHTTP(t, h, "act", described("POST", "http://app.example/api/act", "", c.identities))
		if r.Outputs["res"].StatusCode != c.want {
			t.Errorf("%s: %+v, want %s", name, r, c.want)
		}
	}
	if acted != 2 {
		t.Errorf("acted %d times", acted)
	}
}

// TestAPanicKeepsTheHeadersOfEveryAnswer: an answer that says what went wrong is framed and cached no more than any
// other.
func TestAPanicKeepsTheHeadersOfEveryAnswer(t *testing.T) {
	h := httpHost(t, map[string]http.Handler{"page": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{"Content-Security-Policy": "default-src 'none'",
			"Cache-Control": "no-store", "Content-Type": "image/png", "Set-Cookie": "a=b", "Location": "/x"} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "half a page")
		panic("broken")
	})})
	_, r := invokeHTTP(t, h, "page", described("GET", "http://a/", "", nil))
	res := r.Outputs["res"]
	if res.StatusCode != strconv.Itoa(http.StatusInternalServerError) || res.Body != "the function panicked\n" ||
		res.Headers["Content-Security-Policy"] != "default-src 'none'" || res.Headers["Cache-Control"] != "no-store" ||
		res.Headers["Content-Type"] != "text/plain; charset=utf-8" || res.Headers["Set-Cookie"] != "" ||
		res.Headers["Location"] != "" {
		t.Errorf("%+v", res)
	}
}

func TestHTTPFunctionsYieldToPollersAndSurviveNonsense(t *testing.T) {
	ticked := &fakeTick{}
	functions := map[string]http.Handler{
		"status": http.NotFoundHandler(),
		"broken": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") }),
		"page":   http.NotFoundHandler(),
	}
	h := httpHost(t, functions, handler.Poller{Name: "status", Outputs: []string{""}, Runner: ticked})
	if _, r := invokeHTTP(t, h, "status", `{"Data":{},"Metadata":{}}`); ticked.n != 1 || len(r.Outputs) != 0 {
		t.Errorf("the poller status did not tick: %+v", r)
	}
	if _, r := invokeHTTP(t, h, "broken",
		described("GET", "http://a/", "", nil)); r.Outputs["res"].StatusCode != strconv.Itoa(http.StatusInternalServerError) {
		t.Errorf("%+v", r)
	}
	for _, body := range []string{`{"Data":{},"Metadata":{}}`, `{"Data":{"req":7}}`,
		`{"Data":{"req":{"Url":"http://a/","Method":"G E T"}}}`, `{"Data":{"req":{"Url":"%zz"}}}`} {
		if code, _ := invokeHTTP(t, h, "page", body); code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, code)
		}
	}
}

type fakeTick struct{ n int }

func (f *fakeTick) Run(context.Context) []poller.Report {
	f.n++
	return []poller.Report{{Poller: "status", Event: poller.FetchEmpty, Parked: -1, NullCursors: -1}}
}
