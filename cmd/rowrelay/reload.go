package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/config"
)

// errReloaded is why ticks end when settings were read anew.
var errReloaded = errors.New("the settings were reloaded")

// watchEvery is how often the file is looked at.
const watchEvery = time.Second

// reloads tells why settings are to be read anew, each time that they are. Nothing does without --config.
func reloads(ctx context.Context, c *console, how *running) chan string {
	asked := make(chan string)
	if c.config == "" {
		return asked
	}
	ask := func(why string) {
		select {
		case asked <- why:
		case <-ctx.Done():
		}
	}
	// A terminal that is closed sends SIGHUP too: there it goes on ending the process.
	if in, ok := c.in.(*os.File); !ok || !term.IsTerminal(int(in.Fd())) {
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
	if how.watch {
		go watch(ctx, c.config, func() { ask("the file has changed") })
	}
	return asked
}

// tablesEvery is how often databases are asked whether the tables of source__tables are still those.
const tablesEvery = 30 * time.Second

// watchTables hands over the next generation when source__tables of the settings that run means other tables than those
// that are watched. The file is not read: what was edited there waits until it is asked for. A database that does not
// answer is left to the ticks, which say so.
func (g *generation) watchTables(ctx context.Context, others chan<- *generation) {
	for clock.Sleep(ctx, tablesEvery) == nil {
		next := g.again()
		if slices.Equal(next.environ, g.environ) ||
			slices.ContainsFunc(next.cfg.Pollers, func(p *config.Poller) bool { return p.Source.Tables != "" }) {
			continue
		}
		select {
		case others <- next:
		case <-ctx.Done():
		}
	}
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
