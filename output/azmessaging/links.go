package azmessaging

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/output"
)

const (
	// openTimeout bounds the opening of a link: dialling, the token, the attach. Deliveries wait no longer than they may.
	openTimeout = 30 * time.Second
	// closeTimeout bounds the polite end of a link; the connection ends in any case.
	closeTimeout = 5 * time.Second
	// maxLinks is how many destinations keep an open link; the one that was used least recently gives way. A destination
	// that names an aggregate's id would otherwise keep one for each aggregate ever seen.
	maxLinks = 128
)

// errClosed is the error of a delivery after Close.
var errClosed = errors.New("the output is closed")

// links holds an open link for each destination.
type links[L any] struct {
	open  func(ctx context.Context, destination string) (L, error)
	close func(ctx context.Context, l L)

	mu     sync.Mutex
	all    map[string]*link[L]
	ended  context.Context //nolint:containedctx // ends the opening of links when the output is closed
	end    context.CancelFunc
	closed bool
	alive  sync.WaitGroup // links that are not closed yet
}

// link is a link and who uses it.
type link[L any] struct {
	destination string
	ready       chan struct{} // closed when it is open, or failed to
	link        L
	err         error
	opened      time.Time

	// Below: under links.mu.
	users  int
	used   time.Time
	broken bool // not to be given to anybody else
}

func newLinks[L any](open func(context.Context, string) (L, error), shut func(context.Context, L)) *links[L] {
	l := &links[L]{open: open, close: shut, all: map[string]*link[L]{}}
	l.ended, l.end = context.WithCancel(context.Background())
	return l
}

// acquire returns the destination's link, opening it where there is none, and waits for that no longer than ctx. Give
// it back with release.
func (l *links[L]) acquire(ctx context.Context, destination string) (*link[L], error) {
	entry, err := l.enter(destination)
	if err != nil {
		return nil, err
	}
	select {
	case <-entry.ready:
	case <-ctx.Done():
		l.release(entry, false) // whoever comes next finds it open
		return nil, context.Cause(ctx)
	}
	if entry.err != nil {
		l.release(entry, true)
		return nil, entry.err
	}
	return entry, nil
}

func (l *links[L]) enter(destination string) (*link[L], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	entry := l.all[destination]
	if entry == nil {
		l.makeRoom()
		entry = &link[L]{destination: destination, ready: make(chan struct{})}
		l.all[destination] = entry
		entry.users++ // the opening itself
		l.alive.Add(1)
		go l.dial(entry)
	}
	entry.users++
	return entry, nil
}

// dial opens a link for all who wait for it: one of them giving up does not end it for the others.
func (l *links[L]) dial(entry *link[L]) {
	ctx, cancel := context.WithTimeoutCause(l.ended, openTimeout, errors.New("no link within 30 s"))
	defer cancel()
	entry.link, entry.err = guarded(func() (L, error) { return l.open(ctx, entry.destination) })
	if entry.err != nil && ctx.Err() != nil {
		entry.err = context.Cause(ctx)
	}
	entry.opened = time.Now()
	close(entry.ready)
	l.release(entry, entry.err != nil)
}

// makeRoom closes the link that was used least recently of those that nobody uses, where there are too many.
func (l *links[L]) makeRoom() {
	if len(l.all) < maxLinks {
		return
	}
	var oldest *link[L]
	for _, entry := range l.all {
		if entry.users == 0 && (oldest == nil || entry.used.Before(oldest.used)) {
			oldest = entry
		}
	}
	if oldest != nil {
		l.retire(oldest)
	}
}

// release gives a link back. A broken one is given to nobody any more, and is closed when its last user has given it
// back: what the others have under way on it may still be answered.
func (l *links[L]) release(entry *link[L], broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry.users--
	entry.used = time.Now()
	entry.broken = entry.broken || broken || l.closed
	if !entry.broken {
		return
	}
	if l.all[entry.destination] == entry {
		delete(l.all, entry.destination)
	}
	if entry.users == 0 {
		l.retire(entry)
	}
}

// retire closes a link without users, in the background.
func (l *links[L]) retire(entry *link[L]) {
	entry.broken = true
	if l.all[entry.destination] == entry {
		delete(l.all, entry.destination)
	}
	if entry.err != nil { // it never opened
		l.alive.Done()
		return
	}
	go func() {
		defer l.alive.Done()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		l.close(ctx, entry.link)
	}()
}

// shut closes all links, those in use as soon as they are given back, and waits for it no longer than ctx.
func (l *links[L]) shut(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.end()
	for _, entry := range l.all {
		if entry.users == 0 {
			l.retire(entry)
		}
	}
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		l.alive.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// guarded turns a panic of f into an error: the goroutines here are nobody else's to guard.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			// On one line, of which the log shows the beginning: there the stack tells where it was.
			err = output.Errorf(nil, "panic: %v: %s", p, debug.Stack())
		}
	}()
	return f()
}
