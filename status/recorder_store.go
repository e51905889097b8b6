package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// update looks at the stored note where it is time for it, and writes this process's where it tells something else. A failure
// is a Debug line: notes are for looking at, and the next one is tried when it is time again.
func (c *Recorder) update(ctx context.Context, s *sheet) {
	ctx, cancel := context.WithTimeout(ctx, noteBound)
	defer cancel()
	c.mu.Lock()
	note, stored, version := *s.note, s.stored, s.version
	look, worked := s.looked.IsZero() || s.relook, s.worked
	c.mu.Unlock()
	write := false
	err := guarded(func() (err error) {
		if look {
			if stored, version, err = c.load(ctx, s.key); err != nil {
				return err
			}
		}
		if write = note.replaces(&stored, worked); write {
			stored, version, err = c.write(ctx, s.key, note, stored, version, worked)
		}
		return err
	})
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		s.tried = now
		if c.cfg.Log != nil {
			c.cfg.Log.Debug("the status note was not written", "key", s.key, "error", err)
		}
		return
	}
	s.stored, s.version, s.tried = stored, version, time.Time{}
	if look {
		s.looked, s.relook = now, false
	}
	if write {
		s.wrote = now
	}
	if s.note.At.Equal(note.At) || stored.At.After(s.note.At) { // no tick has ended meanwhile
		s.worked = false
	}
}

// guarded makes an error of a panic: a process that relays rows does not end for a note.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("writing a status note panicked: %v", p)
		}
	}()
	return do()
}

// load reads the stored note; one that cannot be read is as good as none, and is written over.
func (c *Recorder) load(ctx context.Context, key string) (Note, string, error) {
	found, err := c.cfg.Store.Load(ctx, key)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return Note{}, "", nil
	case err != nil:
		return Note{}, "", err
	}
	note, err := decodeNote(found.Data)
	if err != nil {
		note = Note{}
	}
	return note.fit(time.Now()), found.Version, nil
}

// write stores a note, with what the stored one knows besides. The last writer wins, unless another has noted a later tick.
func (c *Recorder) write(ctx context.Context, key string, note, stored Note, version string, worked bool) (Note, string, error) {
	for try := 0; ; try++ {
		joined := note.with(&stored)
		data, err := joined.encode()
		if err != nil {
			return stored, version, err
		}
		var stamp state.Stamp
		if version == "" {
			stamp, err = c.cfg.Store.Create(ctx, key, data)
		} else {
			stamp, err = c.cfg.Store.Replace(ctx, key, data, version)
		}
		if err == nil {
			return joined, stamp.Version, nil
		}
		if !errors.Is(err, state.ErrConflict) || try > 0 {
			return stored, version, err
		}
		if stored, version, err = c.load(ctx, key); err != nil || !note.replaces(&stored, worked) {
			return stored, version, err
		}
	}
}

// readNote reads the note of an output for the page; nil where there is none.
func readNote(ctx context.Context, store state.Store, key string) (*Note, error) {
	found, err := store.Load(ctx, key)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	note, err := decodeNote(found.Data)
	if err != nil {
		return nil, nil //nolint:nilerr // a newer binary's, or damage: the next tick that does something replaces it
	}
	if note = note.fit(time.Now()); note.unfit {
		return nil, nil
	}
	return &note, nil
}
