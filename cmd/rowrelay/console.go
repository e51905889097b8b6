package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/telemetry"
	"github.com/rowrelay/rowrelay/wiring"
)

// console is what the commands see of the process.
type console struct {
	environ  []string
	in       io.Reader
	out, err io.Writer
	settings string   // --settings
	config   string   // --config
	json     bool     // --json
	added    []string // what a file of settings says, once it is read
	written  []string // environ before source__tables was made into pollers
	patterns bool     // it was made into some
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

// process is what the parts are told of the process.
func (c *console) process() *wiring.Process {
	return &wiring.Process{Environ: c.environ, File: c.file(), Added: c.added, Version: version, Out: c.out,
		Telemetry: c.telemetry, Cut: c.cut, Log: c.log, Seen: c.seen}
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

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
