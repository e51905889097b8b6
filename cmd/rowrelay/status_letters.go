package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// A record holds its row, so that reading all of them may take long: names are counted, and records read once and up to a bound.
const (
	lettersEvery = 10 * time.Second // how often they are counted, at most
	lettersMost  = 50_000           // so many names are asked for where the store can end there: after that it is at least so many
	lettersRead  = 200              // so many records are looked into
	lettersOnce  = 8                // so many at a time, those of all pollers
	lettersBound = 2 * time.Second  // for so long: what was not read is with the next report, and their number is known without them
	lettersKept  = 5 * time.Minute  // how long one that was read is taken for what it was: it is replaced when it is given up again
)

// lettersPart counts the dead letters of an output and remembers those that it has read.
type lettersPart struct {
	store  state.Store
	prefix string
	slots  chan struct{}

	mu    sync.Mutex
	known map[string]readLetter
}

type readLetter struct {
	letter status.Letter
	at     time.Time
}

func newLettersPart(a *app, w *wired, output string, slots chan struct{}) *lettersPart {
	return &lettersPart{
		store: a.store, prefix: strings.TrimSuffix(deadletter.Name(a.cfg.State.AppName, w.cfg.Name, output, ""), ".json"), slots: slots,
		known: map[string]readLetter{},
	}
}

// read counts the records, and looks into the first of them. Their number stands also where they cannot be looked into.
func (l *lettersPart) read(ctx context.Context) (func(*status.Output), error) {
	names, all, err := l.names(ctx)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return path.Dir(name)+"/" != l.prefix || !strings.HasSuffix(name, ".json") })
	ctx, cancel := context.WithTimeoutCause(ctx, lettersBound, fmt.Errorf("there was no answer within %s", lettersBound))
	defer cancel()
	letters, err := l.look(ctx, names[:min(len(names), lettersRead)])
	slices.SortStableFunc(letters, func(x, y status.Letter) int { return cmp.Compare(unix(y.At), unix(x.At)) })
	total := int64(len(names))
	letters = letters[:min(len(letters), status.MaxLetters)]
	return func(o *status.Output) {
		o.DeadLetters, o.Letters = total, letters
		if !all {
			o.CountedTo = total
		}
		if err != nil {
			o.Problems = append(o.Problems, status.Problem{Text: "not all of the dead letters that are listed here could be read: " + plaintext.Line(err.Error())})
		}
	}, nil
}

// someLister is a store in which a list costs a request for each few thousand names.
type someLister interface {
	ListSome(ctx context.Context, prefix string, enough int) (keys []string, all bool, err error)
}

// names are those of the records, or of enough of them.
func (l *lettersPart) names(ctx context.Context) (names []string, all bool, err error) {
	if s, ok := l.store.(someLister); ok {
		return s.ListSome(ctx, l.prefix, lettersMost)
	}
	names, err = l.store.List(ctx, l.prefix)
	return names, true, err
}

// look reads the records that were not read a short time ago, a few at a time. One that is gone meanwhile is left out. With an error
// come those that are known all the same.
func (l *lettersPart) look(ctx context.Context, names []string) ([]status.Letter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make([]foundLetter, len(names)) // a slot for each read, so that none writes where another does
	var wg sync.WaitGroup
	for i, name := range names {
		if r, ok := l.known[name]; ok && time.Since(r.at) < lettersKept {
			found[i] = foundLetter{readLetter: r}
			continue
		}
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			found[i].err = context.Cause(ctx)
			continue
		}
		wg.Go(func() {
			defer func() { <-l.slots }()
			if found[i] = l.readOne(ctx, name); found[i].err != nil && !errors.Is(found[i].err, state.ErrNotFound) {
				cancel()
			}
		})
	}
	wg.Wait()
	known := make(map[string]readLetter, len(names))
	letters := []status.Letter{}
	var failed error
	for i, name := range names {
		r, err := found[i].readLetter, found[i].err
		if errors.Is(err, state.ErrNotFound) {
			continue
		}
		if err != nil {
			if failed == nil || errors.Is(failed, context.Canceled) { // the others were cancelled for the one that failed
				failed = err
			}
			var before bool
			if r, before = l.known[name]; !before {
				continue
			}
		}
		known[name] = r
		letters = append(letters, r.letter)
	}
	l.known = known
	return letters, failed
}

// foundLetter is what became of one read.
type foundLetter struct {
	readLetter
	err error
}

// readOne reads one record. A panic is an error: it would end the process, from a goroutine that nobody else watches.
func (l *lettersPart) readOne(ctx context.Context, name string) (f foundLetter) {
	defer func() {
		if p := recover(); p != nil {
			f.err = fmt.Errorf("reading a dead letter panicked: %v", p)
		}
	}()
	f.letter, f.err = letterOf(ctx, deadletter.NewStore(l.store), name)
	if f.err != nil && ctx.Err() != nil {
		f.err = context.Cause(ctx) // whatever the store calls that
	}
	f.at = time.Now()
	return f
}

// letterOf reads one record. One that makes no sense is shown by its name.
func letterOf(ctx context.Context, store *deadletter.Store, name string) (status.Letter, error) {
	e, err := store.Get(ctx, name)
	switch {
	case e.Err != nil:
		return status.Letter{ID: strings.TrimSuffix(path.Base(name), ".json"), Reason: "this record cannot be read: " + flat(e.Err).Error()}, nil //nolint:nilerr // it is shown
	case err != nil:
		return status.Letter{}, err
	}
	r := e.Record
	return status.Letter{ID: r.ID, Key: string(r.Key), At: timeOrNil(r.WrittenAt), Attempts: r.Attempts, Reason: r.Reason}, nil
}

func unix(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixNano()
}
