package statuspage

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestWhatAHostedActionAnswers: the page says what the answer says, whoever gave it, and the focus is never lost.
func TestWhatAHostedActionAnswers(t *testing.T) {
	s := openShop()
	cfg := Config{Reader: s, Operator: s}
	var answer atomic.Pointer[http.HandlerFunc]
	mux := http.NewServeMux()
	mux.Handle("/api/status", View(cfg))
	mux.HandleFunc("/api/status/actions", func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w, r) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	b := openTab(t, server.URL+"/api/status?do=pause&poller=orders")
	with := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	const said, focus = `(document.getElementById("answer").hidden ? "" : document.getElementById("answer").textContent)`,
		`document.activeElement.id`
	for _, test := range []struct {
		answer      http.HandlerFunc
		says, focus string
	}{
		{with(401, "", ""), "Nothing was done: the host does not accept this key.", "key"},
		{with(403, "text/plain; charset=utf-8", "the admin key is needed\n"),
			"Nothing was done: the answer is 403: the admin key is needed.", "key"},
		{with(403, "text/html", "<h1>Access restricted</h1>"), "Nothing was done: the answer is 403, and not this app's.",
			"key"},
		{with(502, "text/html", "<h1>Bad gateway</h1>"),
			"Nothing is known to be done: the answer is 502, and not this app's.", "key"},
		{with(200, "text/html", "<h1>Sign in</h1>"), "Nothing is known to be done: the answer is 200, and not this app's.",
			"key"},
		{with(503, "application/json", `{"error":"the store does not answer"}`), "the store does not answer", "key"},
		{with(409, "application/json; charset=utf-8", `{"error":"another replay is under way"}`),
			"another replay is under way", "key"},
		{Actions(cfg, EasyAuth("")).ServeHTTP, "did pause of orders", "answer"},
	} {
		answer.Store(&test.answer)
		if err := chromedp.Run(b.ctx, chromedp.SendKeys("#key", "a key", chromedp.ByQuery),
			chromedp.Click("button.primary", chromedp.ByQuery)); err != nil {
			t.Fatal(err)
		}
		b.until(said, test.says)
		if got := b.asks(said); got != test.says {
			t.Errorf("%q, want %q", got, test.says)
		}
		if at := b.asks(focus); at != test.focus {
			t.Errorf("after %q the focus is on %q, want %q", test.says, at, test.focus)
		}
	}
	if done := s.done(); len(done) != 1 {
		t.Errorf("did %q", done)
	}
}

// TestAnEndedLoginIsSaid by a page that was left open.
func TestAnEndedLoginIsSaid(t *testing.T) {
	c := &counting{shop: openShop()}
	view := View(Config{Reader: c, Operator: c.shop})
	var ended atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ended.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		view.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := openTab(t, server.URL+"/api/status")
	b.refreshes()
	ended.Store(true)
	b.until(notice, "the login has ended, or the key has changed: reload the page")
}

// TestAReadersVoiceHearsTheTables: on a phone too, where their parts are laid out one below the other; and where rows
// go to.
func TestAReadersVoiceHearsTheTables(t *testing.T) {
	s := openShop()
	server := httptest.NewServer(View(Config{Reader: s, Operator: s}))
	t.Cleanup(server.Close)
	b := openTab(t, server.URL+"/api/status")
	for _, width := range []int64{1280, 390} {
		var tree struct { // cdproto's own type does not know all that a newer browser says
			Nodes []struct {
				Ignored bool `json:"ignored"`
				Role    struct {
					Value string `json:"value"`
				} `json:"role"`
				Name struct {
					Value any `json:"value"`
				} `json:"name"`
			} `json:"nodes"`
		}
		roles := map[string]int{}
		var spoken []string
		err := chromedp.Run(b.ctx, chromedp.EmulateViewport(width, 900),
			chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil),
			chromedp.ActionFunc(func(ctx context.Context) error {
				return chromedp.FromContext(ctx).Target.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
			}))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range tree.Nodes {
			if !n.Ignored {
				roles[n.Role.Value]++
				if n.Role.Value == "StaticText" {
					spoken = append(spoken, fmt.Sprint(n.Name.Value))
				}
			}
		}
		// Two parked events and three dead letters, each table with a row of headings; a box for each letter, and for all.
		if roles["table"] != 2 || roles["row"] != 2+3+2 || roles["columnheader"] != 2*5+1 || roles["cell"] != 5*5+3 ||
			roles["checkbox"] != 3+1 {
			t.Errorf("at a width of %d: %v", width, roles)
		}
		// Other browsers go by how the parts are laid out, where no role is said.
		const silent = `"table:table tr:row th:columnheader td:cell".split(" ").map(p => p.split(":")).flatMap(([tag, role]) =>
			[...document.querySelectorAll(tag)].filter(e => e.getAttribute("role") !== role)).length`
		if n := b.asks(silent); n != "0" {
			t.Errorf("at a width of %d, %s parts of tables say no role", width, n)
		}
		if text := strings.Join(strings.Fields(strings.Join(spoken, " ")), " "); !strings.Contains(text,
			"dbo.Orders to http") {
			t.Errorf("at a width of %d it is not said where rows go: %s", width, text)
		}
	}
}
