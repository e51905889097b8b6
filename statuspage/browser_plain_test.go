package statuspage

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// beyondLoopback serves on an address of this machine that is not loopback's, as status__listen=0.0.0.0:7878 does. A
// machine without one serves on loopback under a name that a browser takes for another machine's, which is what its
// headers go by; the log says so.
func beyondLoopback(t *testing.T, h http.Handler) (home string) {
	t.Helper()
	ip, name := "127.0.0.1", ""
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			ip, name = n.IP.String(), n.IP.String()
		}
	}
	if name == "" {
		name = elsewhere
		t.Logf("this machine has no address but loopback's: the browser is led to 127.0.0.1 by the name %s", name)
	}
	server := httptest.NewUnstartedServer(h)
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	var listen net.ListenConfig
	if server.Listener, err = listen.Listen(t.Context(), "tcp4", ip+":0"); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + net.JoinHostPort(name, port)
}

// TestPlainHTTPBeyondThisMachine: there a browser sends no Sec-Fetch-Site, so that a form shows where it comes from by
// its Origin alone. The forms of the page are accepted, those of another site are not.
func TestPlainHTTPBeyondThisMachine(t *testing.T) {
	s := openShop()
	log := slog.New(slog.DiscardHandler)
	page := Standalone(Config{Reader: s, Operator: s, Token: token, Log: log}, NewGuard(token, log))
	var mu sync.Mutex
	var posts []string
	home := beyondLoopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			mu.Lock()
			posts = append(posts, r.URL.Path+" from "+r.Header.Get("Origin")+r.Header.Get("Sec-Fetch-Site"))
			mu.Unlock()
		}
		page.ServeHTTP(w, r)
	}))
	says := func(b *tab, want string) {
		t.Helper()
		if text := b.text(); !strings.Contains(text, want) {
			t.Fatalf("the page does not say %q: %s", want, text)
		}
	}
	b := openTab(t, home+"/status")
	if err := chromedp.Run(b.ctx, chromedp.SendKeys("#token", token, chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	b.press("button")
	says(b, "Log out")
	b.opened()
	b.press(`a[href*="do=pause"][href*="poller=customers"]`)
	b.press("button.primary")
	says(b, "did pause of customers")
	b.press("a.button")
	form := b.asks(`(f => f.outerHTML)(document.querySelector("form[action='status/logout']"))`)

	// Another site has learned the form, and the browser is logged in.
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(strings.Replace(form, `"status/logout"`, `"`+home+`/status/logout"`, 1)))
	}))
	t.Cleanup(site.Close)
	if err := chromedp.Run(b.ctx, chromedp.Navigate(site.URL)); err != nil {
		t.Fatal(err)
	}
	b.press("button")
	says(b, "cross-origin")
	if err := chromedp.Run(b.ctx, chromedp.Navigate(home+"/status")); err != nil {
		t.Fatal(err)
	}
	says(b, "Log out")
	b.press(`form[action="status/logout"] button`)
	says(b, "Token")
	mu.Lock()
	defer mu.Unlock()
	own := home + "|"
	want := "/status/login from " + own + "/status/actions from " + own + "/status/logout from " + site.URL +
		"|/status/logout from " + home
	if got := strings.Join(posts, "|"); got != want {
		t.Errorf("the browser sends %s, want %s", got, want)
	}
}
