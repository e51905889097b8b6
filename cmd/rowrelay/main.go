// Command rowrelay turns a table of an SQL database into an event source for Azure Functions.
//
// Rowrelay is not a native database trigger. It is a pseudo trigger built on Azure Functions timers. Delivery is
// at-least-once, and receivers must be idempotent.
//
// This package is the only one that knows all the others: wire.go turns the configuration into pollers, and each command
// is one file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "time/tzdata" // source__time_zone works in images without a zone database

	"github.com/rowrelay/rowrelay/host"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a clean end; from then on the default holds, so that a second one ends it at once.
	context.AfterFunc(ctx, restore)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	restore()
	if err == nil {
		return
	}
	var another *host.RestartError
	if errors.As(err, &another) {
		os.Exit(host.ExitRestart)
	}
	var quiet *exitError
	if !errors.As(err, &quiet) {
		fmt.Fprintln(os.Stderr, "rowrelay: "+err.Error())
	}
	os.Exit(1)
}

// run is the whole program: what main does, without the process around it.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	root := newRoot(&console{environ: environ, in: stdin, out: stdout, err: stderr, stop: ctx.Done()})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// exitError ends the process with a failure that has been shown already.
type exitError struct{ err error }

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }
