package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// browser is a real Chromium with one tab.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string // of scripts, and of the Content-Security-Policy
}

// newBrowser starts a headless Chromium without a history. The name evil.example leads to this machine.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{t: t}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(testenv.Chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(testenv.ChromiumProfile(t)), chromedp.WSURLReadTimeout(90*time.Second),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"),
	)
	allocated, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, end := chromedp.NewContext(allocated)
	t.Cleanup(end)
	ctx, end = context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(end)
	b.ctx = ctx
	chromedp.ListenTarget(ctx, b.hear)
	b.run(log.Enable(), runtime.Enable(), chromedp.EmulateViewport(1280, 900))
	return b
}

func (b *browser) hear(event any) {
	said := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError {
			said = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Error()
	}
	// A refused login is told as a failed resource; that is what it is.
	if said == "" || strings.HasPrefix(said, "Failed to load resource") {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, said)
}

// quiet fails when a script failed, or the policy refused something of our own pages.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.complaints {
		b.t.Errorf("the browser complains: %s", said)
	}
	b.complaints = nil
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatalf("%v; the page says: %s", err, b.text())
	}
}

func (b *browser) visit(address string) { b.t.Helper(); b.run(chromedp.Navigate(address)) }

// text is what the page says, and "" where there is none.
func (b *browser) text() string {
	var text string
	ctx, end := context.WithTimeout(b.ctx, 10*time.Second)
	defer end()
	if chromedp.Run(ctx, chromedp.Evaluate(`document.body ? document.body.innerText : ""`, &text)) != nil {
		return ""
	}
	return text
}

// opened shows the details of every output.
const opened = `document.querySelectorAll("details").forEach(d => d.open = true)`

// press clicks what leads to another page, and waits for it.
func (b *browser) press(selector string) {
	b.t.Helper()
	b.run(chromedp.Evaluate(opened, nil))
	if _, err := chromedp.RunResponse(b.ctx, chromedp.Click(selector, chromedp.ByQuery)); err != nil {
		b.t.Fatalf("press %s: %v; the page says: %s", selector, err, b.text())
	}
}

// says waits until the page shows a text, without asking for it again.
func (b *browser) says(part string) {
	b.t.Helper()
	until(b.t, "the page to say "+part, func() bool { return strings.Contains(b.text(), part) })
}

// card is the text of an output's card.
func (b *browser) card(name string) string {
	b.t.Helper()
	var text string
	b.run(chromedp.Evaluate(opened+`; (() => { for (const c of document.querySelectorAll("article")) if (c.querySelector("h2").innerText === "`+name+
		`") return c.className + "\n" + c.innerText; return ""; })()`, &text))
	return text
}

// inCard is the selector of something in an output's card: links name their poller.
func inCard(do, poller string) string {
	return `a[href*="do=` + do + `"][href*="poller=` + poller + `"]`
}

// scripts turns the pages' own scripts off and on.
func (b *browser) scripts(on bool) {
	b.t.Helper()
	b.run(emulation.SetScriptExecutionDisabled(!on))
}

// framed is what the frames from other sites show, by the address that they were given: such a frame is a target of its
// own.
func (b *browser) framed() map[string]string {
	b.t.Helper()
	targets, err := chromedp.Targets(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	list := map[string]string{}
	for _, info := range targets {
		if info.Type != "iframe" {
			continue
		}
		if text, ok := b.shown(info.TargetID); ok { // it may be on its way to its page
			list[info.URL] = text
		}
	}
	return list
}

// shown is what a frame shows.
func (b *browser) shown(id target.ID) (text string, ok bool) {
	frame, end := chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
	b.t.Cleanup(end) // not before: it closes what it is attached to
	err := chromedp.Run(frame, chromedp.Evaluate(`location.protocol + " " + (document.body ? document.body.innerText : "")`, &text))
	return text, err == nil
}

// screenshot writes a picture of the page where ROWRELAY_SCREENSHOTS names a folder.
func (b *browser) screenshot(name string, width, height int64, scheme string) {
	b.t.Helper()
	folder := os.Getenv("ROWRELAY_SCREENSHOTS")
	if folder == "" {
		return
	}
	var picture []byte
	var options []chromedp.EmulateViewportOption
	if width < 600 {
		options = append(options, chromedp.EmulateMobile)
	}
	b.run(
		chromedp.EmulateViewport(width, height, options...),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			picture, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).Do(ctx)
			return err
		}),
		emulation.SetEmulatedMedia(), chromedp.EmulateViewport(1280, 900),
	)
	testfile.Write(b.t, filepath.Join(folder, "status-"+name+".png"), picture)
}
