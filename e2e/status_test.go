package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

const statusToken = "Tr0ub4dor-and-3-more-words"

// office is a shop whose pollers do well, fail, wait and give up; an operator looks at it.
type office struct {
	settings  settings
	db        *sql.DB
	orders    *sink // takes everything, as customers does
	customers *sink
	returns   *sink // version 2 is refused, and waits
	letters   *sink // version 3 is refused, and given up at once
	version   int
}

func newOffice(t *testing.T) *office {
	o := &office{orders: newSink(t), customers: newSink(t), returns: newSink(t), letters: newSink(t), version: 100}
	o.returns.decide(refuseAs(map[int]int{2: http.StatusConflict}))
	o.letters.decide(refuseAs(map[int]int{3: http.StatusUnprocessableEntity}))
	o.settings, o.db = sqliteShop(t, o.orders.URL, 6)
	more := settings{}
	for name, url := range map[string]string{"customers": o.customers.URL, "returns": o.returns.URL,
		"letters": o.letters.URL, "invoices": "http://127.0.0.1:1/hook"} {
		maps.Copy(more, o.settings.renamed(name))
		more["pollers__"+name+"__output__url"] = url
	}
	for _, name := range []string{"orders", "customers", "returns", "letters", "invoices"} {
		more["pollers__"+name+"__schedule"] = "* * * * * *"
		more["pollers__"+name+"__output__retries"] = "1"
	}
	more["pollers__returns__retry_delays"] = "12h"
	more["pollers__letters__retry_delays"], more["pollers__letters__max_attempts"] = "20ms", "2"
	o.settings = o.settings.with(more)
	return o
}

// sell writes a row more, which also shows that the destinations work.
func (o *office) sell(t *testing.T) int {
	t.Helper()
	o.version++
	execute(t, o.db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, o.version)
	return o.version
}

// reading is what a test reads of /status.json.
type reading struct {
	App     string
	Outputs []struct {
		Poller, Health, Says string
		Parked               int64
		DeadLetters          int64 `json:"dead_letters"`
		Paused               *struct{ By string }
		Letters              []struct{ ID, Key, Reason string }
	}
}

// health is each poller's.
func (r *reading) health() map[string]string {
	list := map[string]string{}
	for _, o := range r.Outputs {
		list[o.Poller] = o.Health
	}
	return list
}

// ask sends a request with headers in pairs.
func ask(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end, or the reading failed
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// read is /status.json.
func read(t *testing.T, url string, header ...string) *reading {
	t.Helper()
	code, text := ask(t, http.MethodGet, url, "", header...)
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", url, code, text)
	}
	r := &reading{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

// settled waits until the pollers are what they are made to be.
func (o *office) settled(t *testing.T, url string, tick func(), header ...string) {
	t.Helper()
	var last *reading
	until(t, "the pollers to be healthy, failing, parked and given up", func() bool {
		o.sell(t)
		tick()
		last = read(t, url, header...)
		counts := map[string][2]int64{}
		for _, p := range last.Outputs {
			counts[p.Poller] = [2]int64{p.Parked, p.DeadLetters}
		}
		return last.health()["orders"] == "healthy" && last.health()["customers"] == "healthy" &&
			last.health()["invoices"] == "failing" && counts["returns"][0] == 1 && counts["letters"][1] == 1
	})
}

// startPage starts the process and waits for its page.
func startPage(t *testing.T, s settings) (address, dir string) {
	t.Helper()
	address, dir = programtest.FreeAddress(t), t.TempDir()
	r := startRun(t, dir, s.with(settings{"status__listen": address}))
	r.Until("the status page", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		return err == nil && res.Body.Close() == nil
	})
	return address, dir
}

// TestStatusPageInABrowser: somebody logs in, sees what is wrong, pauses, resumes, mends and replays; other sites can
// do nothing of it.
func TestStatusPageInABrowser(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.settings.with(settings{"status__token": statusToken})
	address, dir := startPage(t, s)
	home := "http://" + address
	bearer := []string{"Authorization", "Bearer " + statusToken}
	o.settled(t, home+"/status.json", func() {}, bearer...)
	b := newBrowser(t)

	b.visit(home + "/status")
	b.says("Log in")
	b.run(chromedp.SendKeys("#token", "wrong", chromedp.ByQuery))
	b.press("button")
	b.says("That is not the token")
	b.run(chromedp.SendKeys("#token", statusToken, chromedp.ByQuery))
	b.press("button")
	for name, health := range map[string]string{"orders": "healthy", "customers": "healthy", "invoices": "failing",
		"returns": "parked"} {
		if card := b.card(name); !strings.Contains(card, health) {
			t.Errorf("the card of %s does not say %s: %s", name, health, card)
		}
	}
	if card := b.card("invoices"); !strings.Contains(card, "handler_failed") || !strings.Contains(card, "What to do") {
		t.Errorf("the failing poller does not say why and what to do: %s", card)
	}
	var first string
	b.run(chromedp.Evaluate(`document.querySelector("article h2").innerText`, &first))
	if first != "invoices" {
		t.Errorf("the first card is %s, want the failing poller's", first)
	}

	// Pause, and see that nothing is delivered; resume, and see that it is. Without the pages' scripts.
	b.scripts(false)
	b.press(inCard("pause", "orders"))
	b.says("before its next batch")
	b.press("button.primary")
	b.says("Paused orders")
	if by := pausedBy(read(t, home+"/status.json", bearer...), "orders"); by != "status page, 127.0.0.1" {
		t.Errorf("paused by %q", by)
	}
	until(t, "a tick that finds the pause", func() bool {
		return read(t, home+"/status.json", bearer...).health()["orders"] == "paused"
	})
	before, _ := o.orders.count()
	held := o.sell(t)
	until(t, "the other pollers to go on", func() bool { return o.returns.column("version")[fmt.Sprint(held)] == 1 })
	if after, _ := o.orders.count(); after != before {
		t.Errorf("a paused poller delivered %d rows", after-before)
	}
	b.press("a.button")
	if card := b.card("orders"); !strings.Contains(card, "paused") || !strings.Contains(card, "status page, 127.0.0.1") {
		t.Errorf("the card does not say who paused it: %s", card)
	}
	b.visit(home + "/status")
	b.run(chromedp.Evaluate(`document.querySelectorAll("#o-letters-, #o-letters--dead").forEach(d => d.open = true)`, nil))
	b.screenshot("light", 1280, 1000, "light")
	b.screenshot("dark", 1280, 1000, "dark")
	b.screenshot("phone", 390, 1500, "light")
	b.press(inCard("resume", "orders"))
	b.press("button.primary")
	b.says("Resumed orders")
	until(t, "what waited", func() bool { return o.orders.column("version")[fmt.Sprint(held)] == 1 })

	// Mend the receiver and replay what it refused: the page sees it by itself.
	b.scripts(true)
	o.letters.decide(nil)
	b.visit(home + "/status")
	b.run(chromedp.Click(`#o-letters- > summary`, chromedp.ByQuery),
		chromedp.Click(`#o-letters--dead > summary`, chromedp.ByQuery))
	b.press(inCard("show", "letters"))
	b.says(`"version": 3`)
	b.press(`a[href*="do=replay"]`)
	b.says("reads the row again")
	b.screenshot("confirm", 900, 640, "light")
	b.press("button.primary")
	b.says("read again")
	until(t, "the row that was given up", func() bool { return o.letters.column("version")["3"] == 1 })
	b.press("a.button")
	until(t, "the page to see it by itself", func() bool {
		o.sell(t)
		return strings.Contains(b.card("letters"), "healthy")
	})
	b.quiet()

	t.Run("other sites", func(t *testing.T) { foreign(t, b, home, bearer) })

	b.visit(home + "/status")
	b.press(`form[action="status/logout"] button`)
	b.says("Log in")
	if code, _, err := command(t, dir, s, "state", "show", "orders"); err != nil {
		t.Errorf("%s %v", code, err)
	}
}

func pausedBy(r *reading, poller string) string {
	for _, o := range r.Outputs {
		if o.Poller == poller && o.Paused != nil {
			return o.Paused.By
		}
	}
	return ""
}

// foreign tries what another site can: to send the form, and to show the page in a frame. The browser is logged in.
func foreign(t *testing.T, b *browser, home string, bearer []string) {
	b.visit(home + "/status?do=pause&poller=orders")
	var csrf string
	b.run(chromedp.Value(`input[name=csrf]`, &csrf, chromedp.ByQuery))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/form": // it has even learned the token of the session
			_, _ = fmt.Fprintf(w, `<form method="post" action="%s/status/actions"><input name="do" value="pause"><input name="poller" value="orders">
				<input name="yes" value="true"><input name="csrf" value="%s"><button>Win a prize</button></form>`, home, csrf)
		case "/frame":
			_, _ = fmt.Fprintf(w, `<p>Look here</p><iframe src="%s/harmless"></iframe><iframe src="%s/status"></iframe>`,
				"http://"+r.Context().Value(http.LocalAddrContextKey).(net.Addr).String(), home)
		default:
			_, _ = io.WriteString(w, "harmless")
		}
	}))
	defer site.Close()
	evil := strings.Replace(site.URL, "127.0.0.1", "evil.example", 1)
	b.visit(evil + "/form")
	b.press("button")
	if text := b.text(); strings.Contains(text, "Paused") || !strings.Contains(text, "cross-origin") {
		t.Errorf("a foreign form was answered: %s", text)
	}
	if by := pausedBy(read(t, home+"/status.json", bearer...), "orders"); by != "" {
		t.Errorf("another site has paused orders: %s", by)
	}
	b.visit(evil + "/frame")
	b.says("Look here")
	var frames map[string]string
	until(t, "both frames", func() bool {
		frames = b.framed()
		return frames[site.URL+"/harmless"] == "http: harmless" && strings.HasPrefix(frames[home+"/status"], "chrome-error:")
	})
	if shown := frames[home+"/status"]; strings.Contains(shown, "orders") {
		t.Errorf("the frame of another site shows %q", shown)
	}
	b.mu.Lock()
	refused := strings.Join(b.complaints, "\n")
	b.complaints = nil
	b.mu.Unlock()
	if !strings.Contains(refused, "frame-ancestors") && !strings.Contains(refused, "X-Frame-Options") {
		t.Errorf("the browser does not say why the frame is empty: %q", refused)
	}
}

// TestStatusWithoutAToken: this machine may look, nobody may act, and no name of another site leads here.
func TestStatusWithoutAToken(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	address, _ := startPage(t, o.settings)
	home := "http://" + address
	o.settled(t, home+"/status.json", func() {})
	_, page := ask(t, http.MethodGet, home+"/status", "", "Accept", "text/html")
	wants(t, page, "status__token", "invoices", "handler_failed")
	form := "do=pause&poller=orders&yes=true"
	for what, code := range map[string]int{
		"pause": first(ask(t, http.MethodPost, home+"/status/actions", form, "Content-Type",
			"application/x-www-form-urlencoded")),
		"rebinding": first(ask(t, http.MethodGet, home+"/status.json", "", "Host", "evil.example")),
		"confirm":   first(ask(t, http.MethodGet, home+"/status?do=pause&poller=orders", "")),
	} {
		if code != http.StatusForbidden {
			t.Errorf("%s: %d", what, code)
		}
	}
	for host, want := range map[string]int{address: http.StatusOK, "scraped.example": http.StatusForbidden} {
		if code := first(ask(t, http.MethodGet, home+"/metrics", "", "Host", host)); code != want {
			t.Errorf("/metrics of %s: %d, want %d", host, code, want)
		}
	}
	if by := pausedBy(read(t, home+"/status.json"), "orders"); by != "" {
		t.Errorf("paused by %s", by)
	}
}

func first(code int, _ string) int { return code }

// TestStatusByScript: what scripts do with the token, they do without a browser; the commands see it.
func TestStatusByScript(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.settings.with(settings{"status__token": statusToken})
	address, dir := startPage(t, s)
	act := "http://" + address + "/status/actions"
	until(t, "the first tick", func() bool {
		return read(t, "http://"+address+"/status.json", "Authorization",
			"Bearer "+statusToken).health()["orders"] == "healthy"
	})
	send := func(form string) (int, string) {
		return ask(t, http.MethodPost, act, form, "Content-Type", "application/x-www-form-urlencoded", "Authorization",
			"Bearer "+statusToken)
	}
	code, said := send("do=pause&poller=orders")
	if code != http.StatusBadRequest {
		t.Errorf("unconfirmed: %d %s", code, said)
	}
	if code, said = send("do=pause&poller=orders&yes=true"); code != http.StatusOK ||
		!strings.Contains(said, `"done":"Paused orders`) {
		t.Errorf("%d %s", code, said)
	}
	wants(t, stateShow(t, dir, s), "status page, 127.0.0.1")
	if code, said = send("do=pause&poller=nobody&yes=true"); code != http.StatusNotFound ||
		!strings.Contains(said, "nobody") {
		t.Errorf("%d %s", code, said)
	}
	if code, said = send("do=replay&poller=orders&letter=nobody&yes=true"); code != http.StatusNotFound {
		t.Errorf("%d %s", code, said)
	}
	if code, said = send("do=resume&poller=orders&yes=true"); code != http.StatusOK {
		t.Errorf("%d %s", code, said)
	}
	if strings.Contains(stateShow(t, dir, s), "status page") {
		t.Error("it is still paused")
	}
}

func stateShow(t *testing.T, dir string, s settings) string {
	t.Helper()
	out := stdout(t, dir, s, "state", "show", "orders")
	return out
}
