// Package reload tells a process that its settings are to be read anew: by SIGHUP, or because their file has changed.
package reload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/rowrelay/rowrelay/clock"
)

// watchEvery is how often the file is looked at.
const watchEvery = time.Second

// Asked tells why the settings of a file are to be read anew, each time that they are, until ctx ends. Nothing does
// without a file. With watched, a change of the file does. in is the process's standard input.
func Asked(ctx context.Context, file string, watched bool, in io.Reader) <-chan string {
	asked := make(chan string)
	if file == "" {
		return asked
	}
	ask := func(why string) {
		select {
		case asked <- why:
		case <-ctx.Done():
		}
	}
	// A terminal that is closed sends SIGHUP too: there it goes on ending the process.
	if terminal, ok := in.(*os.File); !ok || !term.IsTerminal(int(terminal.Fd())) {
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		context.AfterFunc(ctx, func() { signal.Stop(hup) })
		go func() {
			for {
				select {
				case <-hup:
					ask("SIGHUP")
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	if watched {
		go watch(ctx, file, func() { ask("the file has changed") })
	}
	return asked
}

// watch calls changed when a file holds something else than before, and did so a look earlier too: who writes it may be
// in the middle of it. It compares what is in the file, because Kubernetes replaces a directory of links.
func watch(ctx context.Context, path string, changed func()) {
	known := digest(path)
	for last := known; clock.Sleep(ctx, watchEvery) == nil; {
		now := digest(path)
		if now != nil && bytes.Equal(now, last) && !bytes.Equal(now, known) {
			known = now
			changed()
		}
		last = now
	}
}

// digest is nil where the file cannot be read.
func digest(path string) []byte {
	data, err := os.ReadFile(path) //nolint:gosec // the command line names it
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(data)
	return sum[:]
}
