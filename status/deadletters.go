package status

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
)

// A record holds its row, so that reading all of them may take long: names are counted, and records read once and up to
// a bound.
const (
	recordsEvery = 10 * time.Second // how often they are counted, at most
	// so many names are asked for where the store can end there: after that it is at least so many
	recordsMost = 50_000
	recordsRead = 200 // so many records are looked into
	recordsOnce = 8   // so many at a time, those of all pollers
	// for so long: what was not read is with the next report, and their number is known without them
	recordsBound = 2 * time.Second
	// how long one that was read is taken for what it was: it is replaced when it is given up again
	recordsKept = 5 * time.Minute
)

// deadLetterPart counts the dead letters of an output and remembers those that it has read.
type deadLetterPart struct {
	store  state.Store
	prefix string
	slots  chan struct{}

	mu    sync.Mutex
	known map[string]knownRecord
}

type knownRecord struct {
	letter Letter
	at     time.Time
}

func newDeadLetterPart(store state.Store, app, poller, output string, slots chan struct{}) *deadLetterPart {
	return &deadLetterPart{
		store: store, prefix: strings.TrimSuffix(deadletter.Name(app, poller, output, ""), ".json"), slots: slots,
		known: map[string]knownRecord{},
	}
}

// read counts the records, and looks into the first of them. Their number stands also where they cannot be looked into.
func (l *deadLetterPart) read(ctx context.Context) (func(*Output), error) {
	names, all, err := l.names(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, recordsBound, fmt.Errorf("there was no answer within %s", recordsBound))
	defer cancel()
	letters, err := l.records(ctx, names[:min(len(names), recordsRead)])
	slices.SortStableFunc(letters, func(x, y Letter) int { return cmp.Compare(unix(y.At), unix(x.At)) })
	total := int64(len(names))
	letters = letters[:min(len(letters), MaxLetters)]
	return func(o *Output) {
		o.DeadLetters, o.Letters = total, letters
		if !all {
			o.CountedTo = total
		}
		if err != nil {
			o.Problems = append(o.Problems,
				Problem{Text: "not all of the dead letters that are listed here could be read: " + plaintext.Line(err.Error())})
		}
	}, nil
}

// someLister is a store in which a list costs a request for each few thousand names.
type someLister interface {
	ListSome(ctx context.Context, prefix string, enough int) (keys []string, all bool, err error)
}

// names are those of the records, or of enough of them.
func (l *deadLetterPart) names(ctx context.Context) (names []string, all bool, err error) {
	all = true
	if s, ok := l.store.(someLister); ok {
		names, all, err = s.ListSome(ctx, l.prefix, recordsMost)
	} else {
		names, err = l.store.List(ctx, l.prefix)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return path.Dir(name)+"/" != l.prefix || !strings.HasSuffix(name, ".json")
	}), all, err
}

// count only counts them.
func (l *deadLetterPart) count(ctx context.Context) (int64, error) {
	names, _, err := l.names(ctx)
	return int64(len(names)), err
}

// records reads those that were not read a short time ago, a few at a time. One that is gone meanwhile is left out.
// With an error come those that are known all the same.
func (l *deadLetterPart) records(ctx context.Context, names []string) ([]Letter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make([]recordRead, len(names)) // a slot for each read, so that none writes where another does
	var wg sync.WaitGroup
	for i, name := range names {
		if r, ok := l.known[name]; ok && time.Since(r.at) < recordsKept {
			found[i] = recordRead{knownRecord: r}
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
	known := make(map[string]knownRecord, len(names))
	letters := []Letter{}
	var failed error
	for i, name := range names {
		r, err := found[i].knownRecord, found[i].err
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

// recordRead is what became of one read.
type recordRead struct {
	knownRecord
	err error
}

// readOne reads one record. A panic is an error: it would end the process, from a goroutine that nobody else watches.
func (l *deadLetterPart) readOne(ctx context.Context, name string) (f recordRead) {
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
func letterOf(ctx context.Context, store *deadletter.Store, name string) (Letter, error) {
	e, err := store.Get(ctx, name)
	switch {
	case e.Err != nil:
		return Letter{ID: strings.TrimSuffix(path.Base(name), ".json"), Reason: "this record cannot be read: " + said(e.Err.Error())}, nil //nolint:nilerr // it is shown
	case err != nil:
		return Letter{}, err
	}
	r := e.Record
	return Letter{ID: r.ID, Key: string(r.Key), At: timeOrNil(r.WrittenAt), Attempts: r.Attempts, Reason: r.Reason}, nil
}

func unix(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixNano()
}

// Counted is how many dead letters of an output lie in the state store.
type Counted struct {
	Poller, Output string
	DeadLetters    int64
}

// DeadLetters counts them for metrics. What could not be read now is missing, and so are outboxes, whose rows say
// themselves, and pollers whose dead letters go to a queue.
func (b *Board) DeadLetters(ctx context.Context) []Counted {
	list := make([]Counted, 0, len(b.all))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, r := range b.all {
		if r.letters == nil {
			continue
		}
		wg.Go(func() {
			if n, _, err := r.letters.get(ctx); err == nil {
				mu.Lock()
				defer mu.Unlock()
				list = append(list, Counted{r.Base.Poller, r.Base.Output, n})
			}
		})
	}
	wg.Wait()
	return list
}
