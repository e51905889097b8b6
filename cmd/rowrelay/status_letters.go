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
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// A record holds its row, so that reading all of them may take long: names are counted, and records read once and up to a bound.
const (
	lettersEvery = 10 * time.Second // how often they are counted, at most
	lettersRead  = 200              // so many records are looked into
	lettersOnce  = 8                // so many at a time
	lettersKept  = 5 * time.Minute  // how long one that was read is taken for what it was: it is replaced when it is given up again
)

// lettersPart counts the dead letters of an output and remembers those that it has read.
type lettersPart struct {
	store  state.Store
	prefix string

	mu    sync.Mutex
	known map[string]readLetter
}

type readLetter struct {
	letter status.Letter
	at     time.Time
}

func newLettersPart(a *app, w *wired, output string) *lettersPart {
	return &lettersPart{
		store: a.store, prefix: strings.TrimSuffix(deadletter.Name(a.cfg.State.AppName, w.cfg.Name, output, ""), ".json"), known: map[string]readLetter{},
	}
}

func (l *lettersPart) read(ctx context.Context) (func(*status.Output), error) {
	names, err := l.store.List(ctx, l.prefix)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return path.Dir(name)+"/" != l.prefix || !strings.HasSuffix(name, ".json") })
	letters, err := l.look(ctx, names[:min(len(names), lettersRead)])
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(letters, func(x, y status.Letter) int { return cmp.Compare(unix(y.At), unix(x.At)) })
	total := int64(len(names))
	letters = letters[:min(len(letters), status.MaxLetters)]
	return func(o *status.Output) { o.DeadLetters, o.Letters = total, letters }, nil
}

// look reads the records that were not read a short time ago, a few at a time. One that is gone meanwhile is left out.
func (l *lettersPart) look(ctx context.Context, names []string) ([]status.Letter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make([]foundLetter, len(names)) // a slot for each read, so that none writes where another does
	var wg sync.WaitGroup
	turns := make(chan struct{}, lettersOnce)
	for i, name := range names {
		if r, ok := l.known[name]; ok && time.Since(r.at) < lettersKept {
			found[i] = foundLetter{readLetter: r}
			continue
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			if found[i] = l.readOne(ctx, name); found[i].err != nil && !errors.Is(found[i].err, state.ErrNotFound) {
				cancel()
			}
		})
	}
	wg.Wait()
	l.known = make(map[string]readLetter, len(names))
	letters := []status.Letter{}
	var failed error
	for i, name := range names {
		switch f := &found[i]; {
		case f.err == nil:
			l.known[name] = f.readLetter
			letters = append(letters, f.letter)
		case errors.Is(f.err, state.ErrNotFound):
		case failed == nil || errors.Is(failed, context.Canceled): // the others were cancelled for the one that failed
			failed = f.err
		}
	}
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
