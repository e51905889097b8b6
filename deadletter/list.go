package deadletter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Filter says which records are meant; its zero value means all. Each member that is set has to fit.
type Filter struct {
	// App and Poller are names; Output is that of a further output. A poller without an output means all of its outputs.
	App, Poller, Output string
	ID                  string
	// Causes are those that fit, Status the last HTTP status.
	Causes []poller.Cause
	Status int
	// Reason and Key are texts that the reason, or the key's JSON, has in it.
	Reason, Key string
	// Since and Until bound the last attempt (where there is none, the time of writing): Since itself fits, Until does
	// not.
	Since, Until time.Time
}

// readAhead is how many records List reads at a time: each is a request, and there may be very many.
const readAhead = 8

// List calls each for every record that fits, in the order of their names, one at a time: it holds a few records in
// memory. Records that cannot be read fit by their name alone, and come with Entry.Err; they end nothing. progress,
// where it is not nil, is told after each record how many of how many were looked at. An error of each ends the list
// and is returned; the others are the store's.
func (s *Store) List(ctx context.Context, f Filter, each func(Entry) error, progress func(done, total int)) error {
	// Each page of names is bounded by the store. All of them may take minutes, and a person waits.
	listed, err := try(ctx, 600<<20, func(ctx context.Context) ([]string, error) { return s.store.List(ctx, f.prefix()) })
	if err != nil {
		return fmt.Errorf("listing dead letters: %w", err)
	}
	names := listed[:0]
	for _, name := range listed {
		if f.fitsName(name) {
			names = append(names, name)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := 0
	for r := range s.read(ctx, names) {
		switch got := <-r; {
		case errors.Is(got.err, state.ErrNotFound): // gone since it was listed
		case got.err != nil && got.entry.Err == nil:
			return got.err
		case got.entry.Err != nil || f.Fits(got.entry.Record):
			if err := each(got.entry); err != nil {
				return err
			}
		}
		if done++; progress != nil {
			progress(done, len(names))
		}
	}
	return ctx.Err()
}

// reading is a record that is read, or why it is not.
type reading struct {
	entry Entry
	err   error
}

// read reads records, a few at a time, and hands them out in the order of names. It ends with the context.
func (s *Store) read(ctx context.Context, names []string) <-chan chan reading {
	all := make(chan chan reading, readAhead)
	go func() {
		defer close(all)
		for _, name := range names {
			one := make(chan reading, 1)
			select {
			case all <- one:
			case <-ctx.Done():
				return
			}
			go func() {
				e, err := s.Get(ctx, name)
				one <- reading{e, err}
			}()
		}
	}()
	return all
}

// prefix is what the names of all that fit begin with.
func (f *Filter) prefix() string {
	switch {
	case f.App == "":
		return Root
	case f.Poller == "":
		return Root + f.App + "/"
	case f.Output != "":
		return Root + f.App + "/" + f.Poller + "." + f.Output + "/"
	}
	return Root + f.App + "/" + f.Poller
}

// fitsName is what the name alone says.
func (f *Filter) fitsName(name string) bool {
	dir, file := path.Split(name)
	at := path.Base(dir)
	switch {
	case !strings.HasSuffix(file, ".json"):
		return false
	case f.ID != "" && file != f.ID+".json":
		return false
	case f.Poller == "":
		return f.Output == "" || strings.HasSuffix(at, "."+f.Output)
	case f.Output != "":
		return at == f.Poller+"."+f.Output
	}
	return at == f.Poller || strings.HasPrefix(at, f.Poller+".")
}

// Fits reports whether a record is meant.
func (f *Filter) Fits(r *Record) bool {
	when := r.LastAttempt
	if when.IsZero() {
		when = r.WrittenAt
	}
	cause := len(f.Causes) == 0
	for _, c := range f.Causes {
		cause = cause || c == r.Cause
	}
	named := (f.App == "" || f.App == r.App) && (f.Poller == "" || f.Poller == r.Poller) &&
		(f.Output == "" || f.Output == r.Output) && (f.ID == "" || f.ID == r.ID)
	return named && cause && (f.Status == 0 || f.Status == r.Status) &&
		strings.Contains(r.Reason, f.Reason) && bytes.Contains(r.Key, []byte(f.Key)) &&
		(f.Since.IsZero() || !when.Before(f.Since)) && (f.Until.IsZero() || when.Before(f.Until))
}
