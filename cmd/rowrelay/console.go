package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/telemetry"
)

// console is what the commands see of the process.
type console struct {
	environ  []string
	in       io.Reader
	out, err io.Writer
	settings string                  // --settings
	config   string                  // --config
	json     bool                    // --json
	added    []string                // what a file of settings says, once it is read
	written  []string                // environ before source__tables was made into pollers
	patterns bool                    // it was made into some
	found    map[string]config.Found // of each of source__tables, by its poller
	// lines are what is typed, from the first question on: a reader of its own for each would swallow the answers to the
	// next.
	lines *bufio.Reader
	stop  <-chan struct{} // closed by the first Ctrl-C; nil never is
	// telemetry exports what the ticks of serve and run do; nil for nothing, and for every other command.
	telemetry *telemetry.Telemetry
	// log takes what a request is about, of serve and run, while its tick still runs; nil for every other command.
	log *slog.Logger
	// seen is what run knows of state documents, for its generations; nil for every other command.
	seen *checkpointed.Seen
	// cut gives up requests under way when it ends, for serve; nil never does.
	cut context.Context //nolint:containedctx // it belongs to the process, as stop does
}

// functionApp is the Function App that the environment describes.
func (c *console) functionApp() host.App { return host.AppOf(c.environ) }

// env returns an environment variable, "" when it is not set.
func (c *console) env(name string) string { return host.App{Environ: c.environ}.Env(name) }

// disclosure is said wherever a user begins: on the README's first screen, in the package comment and in --help.
const disclosure = `Rowrelay is not a native database trigger. It is a pseudo trigger built on Azure Functions timers.
Delivery is at-least-once: an event may arrive more than once, and receivers must be idempotent.`

// errStopped is why ticks end when the process was asked to.
var errStopped = errors.New("the process was told to stop")

// exitError ends the process with a failure that has been shown already.
type exitError struct{ err error }

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// talk is where a command talks to the person at the console.
func (c *console) talk() io.Writer {
	if c.json {
		return c.err
	}
	return c.out
}

// operator names the person at the console, as far as the system knows.
func operator() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

// everyPoller is typed where a command is about all. No poller can be named so: see config.
const everyPoller = "ALL"

// confirm asks for the poller's name, or for everyPoller. Ctrl-C ends it at once.
func confirm(c *console, name string) error {
	to := c.talk()
	what := "the poller's name"
	if name == everyPoller {
		what = "the word"
	}
	if _, err := fmt.Fprintf(to, "Type %s to go on (%s): ", what, name); err != nil {
		return err
	}
	line, err := c.typed()
	if errors.Is(err, errStopped) {
		if _, err := fmt.Fprintln(to); err != nil {
			return err
		}
		return errors.New("stopped: nothing was changed")
	}
	if strings.TrimSpace(line) == name {
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return errors.New("not confirmed: nothing was changed (--yes goes on without asking)")
}

// typed is the next line that somebody types: errStopped at Ctrl-C.
func (c *console) typed() (string, error) {
	if c.lines == nil {
		c.lines = bufio.NewReader(c.in)
	}
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // a read from a terminal cannot be stopped: it ends with the process
		line, err := c.lines.ReadString('\n')
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		return a.line, a.err
	case <-c.stop:
		return "", errStopped
	}
}

// sayEvery is how often a line is written where there is no bar.
const sayEvery = 10 * time.Second

// watch shows how far long work is until its result is called: a bar where a person is watching, else a line now and
// then. It writes to standard error, so that what a command prints can be piped. done is of total (0: not known).
func (c *console) watch(tell *func(done, total int64, line string)) (end func()) {
	var bar *progressbar.ProgressBar // nil where nobody is watching, and before there is anything to tell
	var said time.Time
	f, file := c.err.(*os.File)
	watched := file && !c.json && term.IsTerminal(int(f.Fd()))
	*tell = func(done, total int64, line string) { // a screen that cannot be written to stops nothing
		switch {
		case watched:
			if bar == nil {
				bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(f), progressbar.OptionShowCount(),
					progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"), progressbar.OptionSetPredictTime(true),
					progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
			}
			if total > 0 {
				bar.ChangeMax64(max(total, done))
			}
			_ = bar.Set64(done)
		case time.Since(said) >= sayEvery:
			said = time.Now()
			_, _ = fmt.Fprintln(c.err, line)
		}
	}
	return func() {
		if bar != nil {
			_ = bar.Finish() // it takes the bar away
		}
	}
}
