package statuspage

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/status"
)

// counting is a Reader whose reports are told apart by their version. A report waits where hang is set.
type counting struct {
	*shop
	n, hanging atomic.Int64
	hang       atomic.Pointer[chan struct{}]
}

func (c *counting) Report(ctx context.Context) status.Report {
	n := c.n.Add(1)
	if wait := c.hang.Load(); wait != nil {
		c.hanging.Add(1)
		select {
		case <-*wait:
		case <-ctx.Done():
		}
	}
	r := c.shop.Report(ctx)
	r.Version = fmt.Sprintf("v%d;", n)
	return r
}

// elsewhere is a name that leads the tests' browsers to this machine, which they do not know.
const elsewhere = "elsewhere.example"

// tab is a real browser that looks at a page.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func openTab(t *testing.T, address string) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(testenv.Chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(testenv.ChromiumProfile(t)), chromedp.WSURLReadTimeout(90*time.Second),
		chromedp.Flag("host-resolver-rules", "MAP "+elsewhere+" 127.0.0.1"))
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	ctx, end = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(end)
	b := &tab{t, ctx}
	if err := chromedp.Run(ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	return b
}

// asks evaluates a script, which may be a promise.
func (b *tab) asks(script string) (answer string) {
	b.t.Helper()
	wait := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	if err := chromedp.Run(b.ctx, chromedp.Evaluate("Promise.resolve("+script+").then(String)", &answer,
		wait)); err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return answer
}

// press clicks what leads to another page, and waits for it.
func (b *tab) press(selector string) {
	b.t.Helper()
	if _, err := chromedp.RunResponse(b.ctx, chromedp.Click(selector, chromedp.ByQuery)); err != nil {
		b.t.Fatalf("press %s: %v; the page: %s", selector, err, b.text())
	}
}

// opened shows the details of every output.
func (b *tab) opened() {
	b.t.Helper()
	b.asks(`document.querySelectorAll("details").forEach(d => d.open = true)`)
}

// text is what the page says.
func (b *tab) text() string { return b.asks("document.body.innerText") }

// until asks the page to refresh itself, as a tab does that is looked at again, until a script says what is wanted.
func (b *tab) until(script, want string) {
	b.t.Helper()
	got, deadline := "", time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if got = b.asks(script); strings.Contains(got, want) {
			return
		}
		b.asks(`(document.dispatchEvent(new Event("visibilitychange")), new Promise(done => setTimeout(done, 50)))`)
	}
	b.t.Fatalf("%s says %q, want %q; the page: %s", script, got, want, b.text())
}

const (
	notice = `(document.getElementById("stale").hidden ? "" : document.getElementById("stale").textContent)`
	shown  = `document.querySelector(".brand p").textContent.match(/v\d+;/)[0]`
)

// refreshes sees to it that what the page shows changes.
func (b *tab) refreshes() {
	b.t.Helper()
	was := b.asks(shown)
	b.until(shown+` !== "`+was+`"`, "true")
}

// TestThePageNeverStandsStillInSilence: whatever keeps it from refreshing itself, it says so, and since when.
func TestThePageNeverStandsStillInSilence(t *testing.T) {
	c := &counting{shop: openShop()}
	view := View(Config{Reader: c, Operator: c.shop})
	var gone atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			http.NotFound(w, r)
			return
		}
		view.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := openTab(t, server.URL+"/api/status")
	b.opened()
	b.refreshes()

	// Text is selected: it stays, and so does what is shown; then all goes on.
	b.asks(`getSelection().selectAllChildren(document.querySelector("h1"))`)
	was := b.asks(shown)
	b.until(notice, "Not refreshed since 20:30 UTC while text is selected.")
	if now := b.asks(shown); now != was || b.asks(`getSelection()`) != "shop" {
		t.Errorf("the page shows %s after %s", now, was)
	}
	b.asks(`getSelection().removeAllRanges()`)
	b.refreshes()
	b.until(notice+` === ""`, "true")

	// The focus is on a link, or on what was opened: it stays there while the page goes on.
	for _, selector := range []string{`a[href*=\"do=resume\"]`, `.tools a`, `details[id$=dead] > summary`} {
		focus := `document.querySelector("` + selector + `")`
		b.asks(`(` + focus + `.focus(), document.activeElement.marked = "here")`)
		b.refreshes()
		if b.asks(`document.activeElement === `+focus+` && !document.activeElement.marked`) != "true" {
			t.Errorf("the focus has left %s", selector)
		}
	}
	b.asks(`document.querySelector("details[id$=dead]").open = true`)
	b.refreshes()
	if b.asks(`document.querySelector("details[id$=dead]").open`) != "true" {
		t.Error("what was opened is closed")
	}

	// The focus is on a link that is gone meanwhile.
	b.asks(`document.querySelector("a[href*='do=resume']").setAttribute("href", "status?do=gone")`)
	b.asks(`document.querySelector("a[href*='do=gone']").focus()`)
	b.until(notice, "Not refreshed since 20:30 UTC while the focus is on something that has changed.")
	b.asks(`document.activeElement.blur()`)
	b.refreshes()

	// The server does not answer: it is asked once at a time, and given up.
	release := make(chan struct{})
	c.hang.Store(&release)
	b.until(notice, "Not up to date: no answer within 8 s.")
	if n := c.hanging.Load(); n > 2 {
		t.Errorf("%d requests in 8 seconds", n)
	}
	c.hang.Store(nil)
	close(release)
	b.refreshes()
	gone.Store(true)
	b.until(notice, "Not up to date: the server answers 404.")
}
