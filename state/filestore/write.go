package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/rowrelay/rowrelay/state"
)

// lockPoll is how often a lock that another process holds is tried again: it is held for one small write.
const lockPoll = 2 * time.Millisecond

// lock waits for the document's turn and returns what ends it.
func (s *Store) lock(ctx context.Context, file string) (func(), error) {
	entry, _ := s.locks.LoadOrStore(file, make(chan struct{}, 1))
	turn, _ := entry.(chan struct{})
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the turn of this process at %s: %w", lockFile(file), context.Cause(ctx))
	}
	lock, err := lockCurrent(ctx, lockFile(file))
	if err != nil {
		<-turn
		if ctx.Err() != nil {
			return nil, fmt.Errorf("another process holds the lock %s (one that is stopped in the middle of a write has to go on or end): %w",
				lockFile(file), context.Cause(ctx))
		}
		return nil, explain(fmt.Errorf("locking a state document: %w", err))
	}
	return func() {
		// The lock ends with its file descriptor, whatever Close says.
		_ = lock.Close()
		<-turn
	}, nil
}

// lockCurrent locks the lock file that has the name at that moment. One that was opened, and deleted with its document
// before it could be locked, locks nothing.
func lockCurrent(ctx context.Context, name string) (*flock.Flock, error) {
	for {
		lock := flock.New(name, flock.SetPermissions(0o600))
		locked, err := lock.TryLockContext(ctx, lockPoll)
		if err == nil && !locked {
			err = errors.New("not locked")
		}
		if err != nil {
			return nil, err
		}
		held, err := lock.Stat()
		if err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		current, err := os.Stat(name)
		if err == nil && os.SameFile(held, current) {
			return lock, nil
		}
		if err := errors.Join(ignoreMissing(err), lock.Close()); err != nil {
			return nil, err
		}
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// replaceFile makes data the content of file, durably. A crash at any step leaves the old document, and perhaps a
// temporary file, which the next write overwrites: writers take turns.
// between runs when the new content is safely on the disk and the old one still in its place, and undo where it stays
// there: then the document keeps its version, and who is told of the error does not find it changed.
func (s *Store) replaceFile(file string, data []byte, between func() error, undo func()) error {
	temporary := helper(file, ".tmp")
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // the path is made from an escaped key
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if !renamed {
			// Best effort: the error that brought us here is the one to tell.
			_ = os.Remove(temporary)
		}
	}()
	if err := s.fill(f, data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := between(); err != nil {
		return err
	}
	defer func() {
		if !renamed {
			undo()
		}
	}()
	if err := s.at("rename"); err != nil {
		return err
	}
	if err := os.Rename(temporary, file); err != nil {
		return err
	}
	renamed = true
	if err := s.at("sync directory"); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

func (s *Store) fill(f *os.File, data []byte) error {
	if err := s.at("write"); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := s.at("sync"); err != nil {
		return err
	}
	return f.Sync()
}

func (s *Store) at(step string) error {
	if s.step == nil {
		return nil
	}
	return s.step(step)
}

// explain adds the mend to faults that an operator has to see to, and marks those that a repetition will not mend. A
// full disk is worth a repetition: somebody may be making room.
func explain(err error) error {
	switch {
	case isFull(err):
		return fmt.Errorf("the disk under state__path is full, the document is unchanged: make room, or move state__path: %w",
			err)
	case errors.Is(err, fs.ErrPermission):
		return &state.PermanentError{Err: fmt.Errorf("state__path must be readable and writable for this process: %w", err)}
	}
	var where *fs.PathError
	if errors.As(err, &where) && (errors.Is(err, fs.ErrInvalid) || isReadOnly(err)) {
		return &state.PermanentError{Err: fmt.Errorf("state__path cannot be used, give a directory of its own that this process may write to: %w", err)}
	}
	return err
}
