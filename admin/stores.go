package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/state"
)

// StoreMove copies the documents of an app, and what lies beside them, from one store to another.
type StoreMove struct {
	From, To state.Store
	// Name is the store that is moved to, for people.
	Name string
	App  string
	// By is the person, for the documents and the log.
	By  string
	Log *slog.Logger
	// Progress is told how many objects beside the documents are copied. It may be nil.
	Progress func(done, total int64, line string)
}

// moveTTL is how long the lease on a document lasts while it is copied, unless it is renewed.
const moveTTL = time.Minute

// Plan says what is moved. Each document is paused where it was, for good: an instance that still has the old settings
// delivers nothing. It is copied under its lease, with the fencing token, which goes on counting. What was moved
// already, by a move that was cut off, is passed over.
func (m *StoreMove) Plan(ctx context.Context) (*Plan, error) {
	keys, err := m.From.List(ctx, "state/"+m.App+"/")
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, &Nothing{Why: "the store holds no document of " + m.App}
	}
	if err := m.elsewhere(ctx, keys); err != nil {
		return nil, err
	}
	p := &Plan{What: fmt.Sprintf("%d document(s) of %s will be copied to %s, with side objects and dead letters. Each stays "+
		"where it is, paused, so that instances with the old settings deliver nothing.", len(keys), m.App, m.Name)}
	p.apply = func(ctx context.Context, r *Result) error {
		// All are paused before anything is copied, and the documents are copied last: a move that is cut off leaves nothing
		// that could be started there without its dead letters.
		for _, key := range keys {
			if err := m.halted(ctx, key, func(*state.Lease) error { return nil }); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		var beside []string
		for _, root := range []string{deadletter.Root, "backfills/"} {
			found, err := m.From.List(ctx, root+m.App+"/")
			if err != nil {
				return err
			}
			beside = append(beside, found...)
		}
		for i, key := range beside {
			if err := m.copy(ctx, key); err != nil {
				return &Refusal{Err: fmt.Errorf("%s, after %d of %d object(s) beside the documents: %w", key, i, len(beside), err),
					Remedy: "run the command again: what was copied is passed over"}
			}
			if m.Progress != nil {
				m.Progress(int64(i+1), int64(len(beside)), fmt.Sprintf("%d of %d objects copied", i+1, len(beside)))
			}
		}
		for _, key := range keys {
			if err := m.document(ctx, key); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		r.say("%d document(s) and %d object(s) beside them are in %s: write its settings, and start with them", len(keys),
			len(beside), m.Name)
		return nil
	}
	return p, nil
}

// elsewhere refuses a store that is the one to move from, named in another way. A document that was moved has another
// lease there, so that none is the same in both.
func (m *StoreMove) elsewhere(ctx context.Context, keys []string) error {
	for _, key := range keys {
		here, err := m.From.Load(ctx, key)
		if err != nil {
			return err
		}
		there, err := m.To.Load(ctx, key)
		switch {
		case errors.Is(err, state.ErrNotFound):
		case errors.As(err, new(*state.PermanentError)):
			return &Refusal{Err: err, Remedy: "the settings of " + m.Name + " follow --to, as in --to state__create=true"}
		case err != nil:
			return err
		case bytes.Equal(here.Data, there.Data):
			return fmt.Errorf("%s holds the same %s, byte for byte: it is the store that the documents are in, or one that was "+
				"copied by hand. There is nothing to move", m.Name, key)
		}
	}
	return nil
}

// document moves one document.
func (m *StoreMove) document(ctx context.Context, key string) error {
	return m.halted(ctx, key, func(lease *state.Lease) error {
		return m.write(lease.Context(), key, lease.Known(), lease.Token())
	})
}

// halted pauses a document, and does something with it under its lease.
func (m *StoreMove) halted(ctx context.Context, key string, do func(*state.Lease) error) error {
	stored, err := m.From.Load(ctx, key)
	if err != nil {
		return err
	}
	doc, err := state.Decode(stored.Data)
	if err != nil {
		return err
	}
	keeper, err := state.New(state.Config{Store: m.From, Key: key, Poller: doc.PollerName, Owner: m.By, TTL: moveTTL})
	if err != nil {
		return err
	}
	// Paused first: after a crash nobody goes on from here beside what was copied.
	s, err := keeper.Amend(ctx, func(doc *state.Document) error {
		mark := fmt.Sprintf("%s to %s, ", state.MovedBy, m.Name)
		switch {
		case doc.Paused == nil, isForReplay(doc.Paused): // which ends by itself
			doc.Paused = &state.Paused{At: time.Now(), By: mark + m.By}
		case moved(doc) && !strings.HasPrefix(doc.Paused.By, mark): // it would go on in two places
			return &Refusal{Err: fmt.Errorf("it was moved elsewhere before, where it may have been used (%s)", doc.Paused.By),
				Remedy: "move it from there; or, if nothing was started there, run `rowrelay state resume` on it first"}
		}
		return nil
	})
	if err != nil {
		return err
	}
	lease, err := keeper.Acquire(ctx, s)
	if err != nil {
		return becauseHeld(err)
	}
	return errors.Join(do(lease), lease.Release(ctx))
}

// becauseHeld says what to do while an instance is at work.
func becauseHeld(err error) error {
	var held *state.HeldError
	if errors.As(err, &held) {
		return fmt.Errorf("%w: the document is paused now, so that the instance gives its lease back at its next batch: "+
			"run this again then", err)
	}
	return err
}

// write puts a document, and what it names, into the other store.
func (m *StoreMove) write(ctx context.Context, key string, doc state.Document, token uint64) error {
	for _, object := range doc.Objects() {
		if err := m.copy(ctx, object); err != nil {
			return fmt.Errorf("%s: %w", object, err)
		}
	}
	doc.Lease = state.LeaseRecord{FencingToken: token}
	if moved(&doc) {
		doc.Paused = nil
	}
	data, err := doc.Encode()
	if err != nil {
		return err
	}
	there, err := m.To.Load(ctx, key)
	switch {
	case errors.Is(err, state.ErrNotFound):
		_, err = m.To.Create(ctx, key, data)
	case err == nil:
		err = m.over(ctx, key, &doc, there, data)
	}
	if err != nil {
		return err
	}
	m.Log.WarnContext(ctx, "the document was moved to another store", "event", "state_moved", "document", key,
		"to", m.Name, "by", m.By)
	return nil
}

// over writes a document over one that is there: it was moved from here before, or a move was cut off.
func (m *StoreMove) over(ctx context.Context, key string, doc *state.Document, there state.Stored, data []byte) error {
	old, err := state.Decode(there.Data)
	if err != nil {
		return err
	}
	copied := old.Lease.OwnerID == "" && old.Lease.LeaseID == "" && old.Checkpoint.Cursor.Equal(doc.Checkpoint.Cursor)
	if !copied && !moved(&old) {
		return fmt.Errorf("%s has this document already, and it was used there: nothing is written over it", m.Name)
	}
	_, err = m.To.Replace(ctx, key, data, there.Version)
	return err
}

// moved reports whether a document is one that was moved elsewhere.
func moved(doc *state.Document) bool {
	return doc.Paused != nil && doc.Paused.Moved()
}

// copy copies an object under its own name; one that is there already must be the same.
func (m *StoreMove) copy(ctx context.Context, key string) error {
	stored, err := m.From.Load(ctx, key)
	if err != nil {
		return err
	}
	_, err = m.To.Create(ctx, key, stored.Data)
	if !errors.Is(err, state.ErrConflict) {
		return err
	}
	there, err := m.To.Load(ctx, key)
	if err == nil && !bytes.Equal(there.Data, stored.Data) {
		_, err = m.To.Replace(ctx, key, stored.Data, there.Version)
	}
	return err
}
