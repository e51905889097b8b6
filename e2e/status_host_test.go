package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

var hostKeys = fakehost.Keys{Master: "master key+/=", Function: "function key+/="}

// startFront starts a function app with the status page, and its front.
func startFront(t *testing.T, root string, s settings) (*fakehost.Host, string) {
	t.Helper()
	host, err := fakehost.Start(t.Context(), fakehost.Options{Root: root, Settings: withSchedules(s), Keys: hostKeys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	front := httptest.NewServer(host.Front())
	t.Cleanup(front.Close)
	return host, front.URL
}

// TestStatusUnderTheHost: the page is a function behind a function key, its actions another behind the admin key.
func TestStatusUnderTheHost(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	root := functionApp(t, o.settings)
	host, front := startFront(t, root, o.settings)
	for _, name := range []string{"status", "statusactions"} {
		if err, known := host.Functions()[name]; err != nil || !known {
			t.Fatalf("the host refuses %s: %v", name, err)
		}
	}
	key := []string{"x-functions-key", hostKeys.Function}
	o.settled(t, front+"/api/status.json", func() {
		for _, name := range []string{"orders", "customers", "returns", "letters", "invoices"} {
			host.Invoke(t.Context(), name) // what becomes of it is what is looked at
		}
	}, key...)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	act := front + "/api/status/actions"
	for what, c := range map[string]struct{ code, want int }{
		"page without a key": {first(ask(t, http.MethodGet, front+"/api/status", "")), http.StatusUnauthorized},
		"JSON with a wrong key": {first(ask(t, http.MethodGet, front+"/api/status.json", "", "x-functions-key", "x")),
			http.StatusUnauthorized},
		"another page": {first(ask(t, http.MethodGet, front+"/api/status.html", "", key...)),
			http.StatusNotFound},
		"POST to the page": {first(ask(t, http.MethodPost, front+"/api/status", "x", key...)), http.StatusNotFound},
		"action, function key": {first(ask(t, http.MethodPost, act, pauseForm, append(form, key...)...)),
			http.StatusUnauthorized},
		"action, no key": {first(ask(t, http.MethodPost, act, pauseForm, form...)), http.StatusUnauthorized},
		"action, key in the address": {first(ask(t, http.MethodPost, act+"?code=master+key%2B%2F%3D", pauseForm, form...)),
			http.StatusBadRequest},
		"action, cross-site": {first(ask(t, http.MethodPost, act, pauseForm,
			append(form, "x-functions-key", hostKeys.Master, "Sec-Fetch-Site", "cross-site")...)), http.StatusForbidden},
	} {
		if c.code != c.want {
			t.Errorf("%s: %d, want %d", what, c.code, c.want)
		}
	}

	b := newBrowser(t)
	b.visit(front + "/api/status?code=function+key%2B%2F%3D")
	if card := b.card("invoices"); !strings.Contains(card, "failing") || !strings.Contains(card, "handler_failed") {
		t.Errorf("the card of invoices: %s", card)
	}
	b.press(inCard("pause", "orders"))
	b.says("Admin key")
	b.run(chromedp.SendKeys("#key", "wrong", chromedp.ByQuery), chromedp.Click("button.primary", chromedp.ByQuery))
	b.says("does not accept this key")
	b.run(chromedp.SendKeys("#key", hostKeys.Master, chromedp.ByQuery), chromedp.Click("button.primary", chromedp.ByQuery))
	b.says("Paused orders")
	var address string
	b.run(chromedp.Location(&address))
	if strings.Contains(address, "master") {
		t.Errorf("the admin key stands in the address: %s", address)
	}
	// Nobody has switched Easy Auth on: a name that somebody sends is not believed.
	if by := pausedBy(read(t, front+"/api/status.json", key...), "orders"); by != "status page, admin key" {
		t.Errorf("paused by %q", by)
	}
	b.press(".crumb a")
	if card := b.card("orders"); !strings.Contains(card, "paused") {
		t.Errorf("the card of orders: %s", card)
	}
	b.quiet()
	for _, line := range host.Logs() {
		if strings.Contains(line.Text, "master key") || strings.Contains(line.Text, "function key+") {
			t.Errorf("a key is in the log: %s", line.Text)
		}
	}
}

const pauseForm = "do=pause&poller=orders&yes=true"

// TestStatusActionsNeedTheAdminKeyWhateverFunctionJSONSays: somebody made the function anonymous.
func TestStatusActionsNeedTheAdminKeyWhateverFunctionJSONSays(t *testing.T) {
	t.Parallel()
	s, _ := sqliteShop(t, newSink(t).URL, 1)
	root := functionApp(t, s)
	path := filepath.Join(root, "statusactions", "function.json")
	text := testfile.Read(t, path)
	open := strings.Replace(string(text), `"admin"`, `"anonymous"`, 1)
	if open == string(text) {
		t.Fatal("authLevel is not admin")
	}
	testfile.Write(t, path, open)
	_, front := startFront(t, root, s)
	for _, key := range []string{"", hostKeys.Function} {
		code, said := ask(t, http.MethodPost, front+"/api/status/actions", pauseForm, "Content-Type",
			"application/x-www-form-urlencoded", "x-functions-key", key, "Rowrelay-Host-Admin", "1")
		if code != http.StatusForbidden || !strings.Contains(said, "authLevel must be admin") {
			t.Errorf("%q: %d %s", key, code, said)
		}
	}
}

// TestStatusBelievesEasyAuthWhereItIsOn: the name goes into the audit, and only there.
func TestStatusBelievesEasyAuthWhereItIsOn(t *testing.T) {
	t.Parallel()
	for enabled, want := range map[string]string{"True": "status page, ann@example.com (id-7)",
		"": "status page, admin key"} {
		s, _ := sqliteShop(t, newSink(t).URL, 1)
		host, front := startFront(t, functionApp(t, s), s.with(settings{"WEBSITE_AUTH_ENABLED": enabled}))
		must(t, host, "orders")
		code, said := ask(t, http.MethodPost, front+"/api/status/actions", pauseForm, "Content-Type",
			"application/x-www-form-urlencoded",
			"x-functions-key", hostKeys.Master, "X-MS-CLIENT-PRINCIPAL-NAME", "ann@example.com", "X-MS-CLIENT-PRINCIPAL-ID",
			"id-7")
		if code != http.StatusOK {
			t.Fatalf("%d %s", code, said)
		}
		if by := pausedBy(read(t, front+"/api/status.json", "x-functions-key", hostKeys.Function), "orders"); by != want {
			t.Errorf("Easy Auth %q: paused by %q, want %q", enabled, by, want)
		}
	}
}

// TestAPollerNamedStatusComesFirst: it ticks, and the page is not written over it.
func TestAPollerNamedStatusComesFirst(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 2)
	renamed := s.renamed("status")
	root := functionApp(t, renamed)
	host, front := startFront(t, root, renamed)
	must(t, host, "status")
	if n, _ := to.count(); n != 2 {
		t.Errorf("%d rows arrived", n)
	}
	if code, _ := ask(t, http.MethodGet, front+"/api/status", "", "x-functions-key",
		hostKeys.Function); code != http.StatusNotFound {
		t.Errorf("the page answers %d", code)
	}
	wants(t, stdout(t, root, renamed, "functions"), "status/ is the poller's", "statusactions")
}

// TestUnderFuncStartTheNameMatters: Core Tools asks for no key, so a web site whose name leads to this machine must not
// be answered.
func TestUnderFuncStartTheNameMatters(t *testing.T) {
	t.Parallel()
	s, _ := sqliteShop(t, newSink(t).URL, 1)
	host, front := startFront(t, functionApp(t, s),
		s.with(settings{"FUNCTIONS_CORETOOLS_ENVIRONMENT": "true", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}))
	must(t, host, "orders")
	// who passes for an admin
	headers := []string{"x-functions-key", hostKeys.Master, "Content-Type", "application/x-www-form-urlencoded"}
	rebound := append([]string{"Host", "evil.example:7071", "Origin", "http://evil.example:7071"}, headers...)
	for _, path := range []string{"/api/status", "/api/status.json"} {
		if code, said := ask(t, http.MethodGet, front+path, "", rebound...); code != http.StatusForbidden ||
			strings.Contains(said, "orders") {
			t.Errorf("%s: %d %s", path, code, said)
		}
	}
	if code, said := ask(t, http.MethodPost, front+"/api/status/actions", pauseForm,
		rebound...); code != http.StatusForbidden {
		t.Errorf("an action: %d %s", code, said)
	}
	if by := pausedBy(read(t, front+"/api/status.json", headers...), "orders"); by != "" {
		t.Errorf("paused by %q", by)
	}
	if code, said := ask(t, http.MethodPost, front+"/api/status/actions", pauseForm, headers...); code != http.StatusOK {
		t.Errorf("by a name of this machine: %d %s", code, said)
	}
}

// TestTheHandlersPortAnswersNamesOfThisMachine: the host calls 127.0.0.1.
func TestTheHandlersPortAnswersNamesOfThisMachine(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 1)
	address := programtest.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	p := programtest.Start(t, programtest.Options{Settings: s}, "serve", "--port", port)
	p.Until("the port", func() bool {
		var dialer net.Dialer
		c, err := dialer.DialContext(t.Context(), "tcp", address)
		return err == nil && c.Close() == nil
	})
	const invocation = `{"Data":{},"Metadata":{}}`
	for _, host := range []string{"evil.example:" + port, "localhost:" + port} {
		want := map[bool]int{true: http.StatusForbidden, false: http.StatusOK}[strings.HasPrefix(host, "evil")]
		for _, code := range []int{
			first(ask(t, http.MethodGet, "http://"+address+"/", "", "Host", host)),
			first(ask(t, http.MethodGet, "http://"+address+"/metrics", "", "Host", host)),
			first(ask(t, http.MethodPost, "http://"+address+"/orders", invocation, "Host", host, "Content-Type",
				"application/json")),
		} {
			if code != want {
				t.Errorf("%s: %d, want %d", host, code, want)
			}
		}
		if n, _ := to.count(); (n == 1) != (want == http.StatusOK) {
			t.Errorf("%s: %d rows were delivered", host, n)
		}
	}
}
