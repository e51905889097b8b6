package deadletter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Root is what the keys of all records begin with.
const Root = "deadletters/"

// Name returns the key of a record. The id must be a plain word: it is a file's name.
func Name(app, name, output, id string) string {
	if output != "" {
		name += "." + output
	}
	return Root + app + "/" + name + "/" + id + ".json"
}

// Store keeps records beside the state documents. It implements poller.DeadLetters, and is safe for concurrent use.
type Store struct {
	store state.Store
	most  int // bytes of a record
}

// NewStore returns a Store in s.
func NewStore(s state.Store) *Store { return &Store{store: s, most: state.MaxObject} }

// Put stores the record of d; the one of an earlier time under the same id is replaced. It tries a few times, within
// about half a minute. An error may leave it stored: the next Put replaces it.
func (s *Store) Put(ctx context.Context, d poller.DeadLetter) error {
	_, err := s.put(ctx, New(d, time.Now()))
	return err
}

// put returns the name under which the record is stored. A row that no store takes is left out, and the reason says so.
func (s *Store) put(ctx context.Context, r *Record) (string, error) {
	if r.ID == "" || strings.ContainsAny(r.ID, "/\\") || len(r.ID) > 128 {
		return "", fmt.Errorf("storing a dead letter: its id %.140q is no name", r.ID)
	}
	name := Name(r.App, r.Poller, r.Output, r.ID)
	data, err := r.Encode()
	if err == nil && len(data) > s.most {
		small := *r
		small.Reason = fmt.Sprintf("%s (the row is left out here: the record would take %d bytes, the most is %d)", r.Reason,
			len(data), s.most)
		small.Row, small.Before = nil, nil
		data, err = small.Encode()
	}
	if err != nil {
		return "", err
	}
	_, err = try(ctx, len(data), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.write(ctx, name, data)
	})
	if err != nil {
		return "", fmt.Errorf("storing the dead letter %s: %w", name, err)
	}
	return name, nil
}

// write creates the record, or replaces the one that is there. Whatever made it conflict, it looks again.
func (s *Store) write(ctx context.Context, name string, data []byte) error {
	_, err := s.store.Create(ctx, name, data)
	if !errors.Is(err, state.ErrConflict) {
		return err
	}
	old, err := s.store.Load(ctx, name)
	switch {
	case errors.Is(err, state.ErrNotFound): // purged in between
		return errMoved
	case err != nil:
		return err
	case bytes.Equal(old.Data, data):
		return nil // an earlier try was done
	}
	if _, err = s.store.Replace(ctx, name, data, old.Version); errors.Is(err, state.ErrConflict) {
		return errMoved
	}
	return err
}

var errMoved = errors.New("the record was changed by another meanwhile")

// Entry is a record as the store holds it.
type Entry struct {
	// Name is its key in the store.
	Name string
	// Record is nil where Err says why it cannot be read.
	Record  *Record
	Err     error
	version state.Version
}

// Get reads one record. Errors: state.ErrNotFound, ErrRecord (the entry then serves to delete it), or the store's
// fault.
func (s *Store) Get(ctx context.Context, name string) (Entry, error) {
	if !strings.HasPrefix(name, Root) {
		return Entry{}, fmt.Errorf("reading %q: that is no dead letter: their names begin with %s", name, Root)
	}
	stored, err := try(ctx, state.MaxObject/2, func(ctx context.Context) (state.Stored, error) {
		return s.store.Load(ctx, name)
	})
	if err != nil {
		return Entry{}, fmt.Errorf("reading %s: %w", name, err)
	}
	e := Entry{Name: name, version: stored.Version}
	if e.Record, err = Decode(stored.Data); err != nil {
		e.Err = fmt.Errorf("reading %s: %w", name, err)
	}
	return e, e.Err
}

// Delete removes the very record that was read. Errors: state.ErrConflict where it was replaced since (the event was
// given up again), or the store's fault. One that is gone already is deleted.
func (s *Store) Delete(ctx context.Context, e Entry) error {
	_, err := try(ctx, 0, func(ctx context.Context) (struct{}, error) {
		err := s.store.Delete(ctx, e.Name, e.version)
		if errors.Is(err, state.ErrConflict) {
			if _, loadErr := s.store.Load(ctx, e.Name); errors.Is(loadErr, state.ErrNotFound) {
				return struct{}{}, nil // by an earlier try, or by another
			}
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("deleting %s: %w", e.Name, err)
	}
	return nil
}

// tries is how often one operation is tried before its error is the caller's.
const tries = 4

// patience is how long an operation on a small record may take, and how long any is begun anew.
const patience = 10 * time.Second

// try repeats do while its error may mend itself, each time within its patience and a second more for each MiB.
func try[T any](ctx context.Context, size int, do func(context.Context) (T, error)) (T, error) {
	bound := patience + time.Duration(size>>20)*time.Second
	wait := &backoff.ExponentialBackOff{InitialInterval: 50 * time.Millisecond, MaxInterval: 2 * time.Second,
		Multiplier: 3, RandomizationFactor: 0.5}
	return backoff.Retry(ctx, func() (T, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, bound, &state.SilentError{After: bound})
		defer cancel()
		v, err := do(ctx)
		var permanent *state.PermanentError
		switch {
		case err == nil:
			return v, nil
		case errors.Is(err, state.ErrNotFound), errors.Is(err, state.ErrConflict), errors.As(err, &permanent):
			return v, backoff.Permanent(err)
		case context.Cause(ctx) != nil && !errors.Is(err, context.Cause(ctx)):
			return v, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return v, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(patience))
}
