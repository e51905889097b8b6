package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// update reads the stored note where it is time for it, and writes this process's where it tells something else. A
// failure is a Debug line: notes are for looking at, and the next one is tried when it is time again.
func (c *Recorder) update(ctx context.Context, s *sheet) {
	ctx, cancel := context.WithTimeout(ctx, noteBound)
	defer cancel()
	c.mu.Lock()
	note, stored, version := *s.note, s.stored, s.version
	read, worked := s.readAt.IsZero() || s.reread, s.worked
	c.mu.Unlock()
	write := false
	err := guarded(func() (err error) {
		if read {
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
		c.failed(s.key, err)
		return
	}
	s.stored, s.version, s.tried = stored, version, time.Time{}
	if read {
		s.readAt, s.reread = now, false
	}
	if write {
		s.wrote = now
	}
	if s.note.At.Equal(note.At) || stored.At.After(s.note.At) { // no tick has ended meanwhile
		s.worked = false
	}
}

// failed tells of a note that could not be read or written.
func (c *Recorder) failed(key string, err error) {
	if err != nil && c.cfg.Log != nil {
		c.cfg.Log.Debug("the status note was not written", "key", key, "error", err)
	}
}

// heard takes the store's clock from an answer. That of this process may be slow, and its failure would else be taken
// for one that another's success is later than.
func (c *Recorder) heard(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clockLag = time.Until(now)
	if c.clockLag.Abs() < clockNear {
		c.clockLag = 0
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

// load reads the stored note; one that cannot be read is written over at once.
func (c *Recorder) load(ctx context.Context, key string) (Note, state.Version, error) {
	found, err := c.cfg.Store.Load(ctx, key)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return Note{}, "", nil
	case err != nil:
		return Note{}, "", err
	}
	c.heard(found.Now)
	note, err := decodeNote(found.Data)
	if err != nil {
		return Note{unfit: true}, found.Version, nil //nolint:nilerr // that is what there is to say of it
	}
	return note.fit(found.Now), found.Version, nil
}

// write stores a note, with what the stored one knows besides. The last writer wins, unless another has noted a later
// tick.
func (c *Recorder) write(ctx context.Context, key string, note, stored Note, version state.Version, worked bool) (Note,
	state.Version, error) {
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
			c.heard(stamp.Now)
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

// Gone says, of an output that has no state document, that it had one: the note at key tells of a tick that succeeded.
// Nil where nothing tells so.
func Gone(ctx context.Context, store state.Store, key string) error {
	note, err := readNote(ctx, store, key)
	if err != nil || !note.hadDocument() || time.Since(note.At) > strangersNote {
		return nil //nolint:nilerr // what is not known is no fault
	}
	return errors.New(gone(*note.LastSuccess))
}

// Recorder remembers what the ticks of this process have told, and leaves a Note of it in the state store, from a
// goroutine of its own: no tick waits for it, and none fails for it.
//
// A note is written after a tick that did something, every 15 s at most; at once where a tick's outcome is another one
// than the note says (it failed, failed otherwise, rows are held back, or that has ended; there was more to do, and is
// not any more); and as a sign of life after other ticks that found nothing to do, every minute at most. So that
// another instance's last failure does not stand for ever beside idle ticks, the stored note is read with the first
// tick of a process, and then every five minutes at most.
type Recorder struct {
	cfg  RecorderConfig
	wake chan struct{}

	mu       sync.Mutex
	sheets   map[[2]string]*sheet // by poller and output
	clockLag time.Duration        // of this process's clock against the store's: 0 where they are about the same
	ending   func()               // nil while nothing is written in the background
	ended    chan struct{}
	closed   bool
}

// RecorderConfig is what NewRecorder needs.
type RecorderConfig struct {
	App, Instance string
	// Store is nil where there is none: then nobody but this process knows what its ticks told.
	Store state.Store
	// SilentAfter is how long after a tick of a poller a missing sign of life says that nothing ticks it; 0 where its
	// next tick is not due at a known time. Nil: for all of them.
	SilentAfter func(poller string) time.Duration
	// IdleAfter is the same while nobody holds the lease; 0 where a tick may take long without it.
	IdleAfter func(poller string) time.Duration
	// Alone says that the ticks end with this process: no host starts another.
	Alone bool
	Log   *slog.Logger
}

// sheet is what is known of one output's ticks.
type sheet struct {
	key  string
	note *Note     // of this process; nil before a tick has told anything
	good time.Time // when a tick last succeeded, or found another at work or a pause

	stored  Note          // as it was last read or written
	version state.Version // of it; "" for none
	readAt  time.Time
	wrote   time.Time
	tried   time.Time // of the last failure to read or write
	worked  bool      // something is to be written, and may wait
	reread  bool
}

// strangersNote is how old a note may be beside a document that is not there: one that is older tells of another
// poller, which had the same name.
const strangersNote = 24 * time.Hour

// readNote reads the note of an output for the page; nil where there is none.
func readNote(ctx context.Context, store state.Store, key string) (*Note, error) {
	found, err := store.Load(ctx, key)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	note, err := decodeNote(found.Data) // an error: a newer binary's, or damage; the next tick that reads replaces it
	if err != nil {
		return nil, err
	}
	if note = note.fit(found.Now); note.unfit {
		return nil, nil
	}
	if note.ahead = time.Since(found.Now); note.ahead.Abs() < clockNear {
		note.ahead = 0
	}
	return &note, nil
}
