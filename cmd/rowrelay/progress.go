package main

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far long work is: a bar where a person is watching, else a line now and then. It writes to standard
// error, so that what a command prints can be piped.
type progress struct {
	console *console
	bar     *progressbar.ProgressBar // nil where nobody is watching
	said    time.Time
}

// sayEvery is how often a line is written where there is no bar.
const sayEvery = 10 * time.Second

func newProgress(c *console) *progress {
	p := &progress{console: c}
	if f, ok := c.err.(*os.File); ok && !c.json && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(f), progressbar.OptionShowCount(),
			progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	return p
}

// show tells how much is done, of total (0: not known). A screen that cannot be written to stops nothing.
func (p *progress) show(done, total int64, line string) {
	if p.bar != nil {
		if total > 0 {
			p.bar.ChangeMax64(max(total, done))
		}
		_ = p.bar.Set64(done) // only a screen
		return
	}
	if time.Since(p.said) < sayEvery {
		return
	}
	p.said = time.Now()
	_, _ = fmt.Fprintln(p.console.err, line) // only a screen
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish() // only a screen
	}
}

// watch shows progress until its result is called.
func (c *console) watch(tell *func(done, total int64, line string)) (end func()) {
	var p *progress
	*tell = func(done, total int64, line string) {
		if p == nil {
			p = newProgress(c)
		}
		p.show(done, total, line)
	}
	return func() {
		if p != nil {
			p.end()
		}
	}
}
